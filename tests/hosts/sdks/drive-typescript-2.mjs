// Drives the TypeScript client 2.x.

import { answer, load, options } from "./jobs.mjs";

const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");

await answer(async (job) => {
  let transport;
  if (job.transport === "stdio") {
    const [command, ...args] = job.command;
    transport = new StdioClientTransport({ command, args, env: job.env });
  } else {
    transport = new StreamableHTTPClientTransport(new URL(job.url), options(job));
  }
  const client = new Client({ name: "hosts", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(transport);
  return client;
});
