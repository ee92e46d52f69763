// Drives Genkit: a generation with the tools of a server, whose model makes the calls of the job.

import { answer, attempts, load } from "./jobs.mjs";

const { genkit } = load("genkit");
const { createMcpClient } = load("@genkit-ai/mcp");

await answer(async (job) => {
  const ai = genkit({});
  let server;
  if (job.transport === "stdio") {
    const [command, ...args] = job.command;
    server = { command, args, ...(job.env && { env: job.env }) };
  } else {
    server = { url: job.url, requestInit: { headers: job.headers } };
  }
  const client = createMcpClient({ name: "hosts", serverName: "loci", mcpServer: server });
  const tools = await client.getActiveTools(ai);

  /** Has the model make a call, if there is one; gives the tools that it has, and what it is told. */
  async function run(call) {
    let offered, told;
    const model = ai.defineModel({ name: "scripted", supports: { tools: true } }, async (request) => {
      offered = request.tools ?? [];
      told = request.messages.at(-1).content.find((part) => part.toolResponse)?.toolResponse.output;
      const asked = call && told === undefined;
      const part = asked ? { toolRequest: { name: call.name, input: call.arguments, ref: "1" } } : { text: "done" };
      return { message: { role: "model", content: [part] }, finishReason: "stop" };
    });
    await ai.generate({ model, prompt: "go on", tools });
    return { offered, told };
  }

  return {
    async listTools() {
      return { tools: (await run()).offered };
    },
    convert: async () => attempts((await run()).offered, (tool) => tool.inputSchema),
    async callTool(call) {
      const { told } = await run(call);
      const text = typeof told === "string" ? told : (told.error ?? JSON.stringify(told));
      return { isError: told.error !== undefined, content: [{ type: "text", text }] };
    },
    close: () => client.disable(),
  };
});
