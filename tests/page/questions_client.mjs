// A client as the TypeScript SDK makes one, whose person answers. Reads one JSON object from stdin and
// prints what the person was asked, and the results of the calls.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

let input = "";
for await (const chunk of process.stdin) {
  input += chunk;
}
const { url, token, command, env, mode, answers, calls, together, leaves } = JSON.parse(input);

const capabilities = { elicitation: { form: {} } };
const client = new Client({ name: "questions", version: "1" }, { capabilities, versionNegotiation: { mode } });
const asked = [];
let wasAsked;
const isAsked = new Promise((resolve) => {
  wasAsked = resolve;
});
client.setRequestHandler("elicitation/create", async ({ params }) => {
  asked.push(params);
  wasAsked();
  const answer = answers[Math.min(asked.length, answers.length) - 1];
  if (answer === null) {
    await new Promise(() => {});
  }
  if (answer === "decline" || answer === "cancel") {
    return { action: answer };
  }
  return { action: "accept", content: { answer } };
});

const headers = { Authorization: `Bearer ${token}` };
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  : new StdioClientTransport({ command: command[0], args: command.slice(1), env, stderr: "ignore" });
await client.connect(transport);

const call = async ([name, given]) => {
  const result = await client.callTool({ name, arguments: given }, { timeout: 60_000 });
  return { text: result.content.map(({ text }) => text).join("\n"), isError: result.isError ?? false };
};

const results = [];
if (leaves) {
  call(calls[0]).catch(() => {});
  await isAsked;
} else if (together) {
  results.push(...(await Promise.all(calls.map(call))));
} else {
  for (const one of calls) {
    results.push(await call(one));
  }
}
process.stdout.write(JSON.stringify({ asked, results }));
await client.close();
process.exit(0);
