// Drives the TypeScript SDK 1.x.

import { answer, load, options } from "./jobs.mjs";

const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");

await answer(async (job) => {
  let transport;
  if (job.transport === "stdio") {
    const [command, ...args] = job.command;
    transport = new StdioClientTransport({ command, args, env: job.env });
  } else {
    transport = new StreamableHTTPClientTransport(new URL(job.url), options(job));
  }
  const client = new Client({ name: "hosts", version: "1" });
  await client.connect(transport);
  return client;
});
