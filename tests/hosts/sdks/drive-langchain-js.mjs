// Drives @langchain/mcp-adapters: the tools of a server as those of LangChain.

import { answer, attempts, load } from "./jobs.mjs";

const { MultiServerMCPClient } = load("@langchain/mcp-adapters");
const { AIMessage } = load("@langchain/core/messages");
const { convertToOpenAITool } = load("@langchain/core/utils/function_calling");
const { ToolNode } = load("@langchain/langgraph/prebuilt");

await answer(async (job) => {
  let server;
  if (job.transport === "stdio") {
    const [command, ...args] = job.command;
    server = { transport: "stdio", command, args, ...(job.env && { env: job.env }) };
  } else {
    server = { transport: "http", url: job.url, headers: job.headers };
  }
  const client = new MultiServerMCPClient({ mcpServers: { loci: server } });
  const tools = await client.getTools();
  return {
    async listTools() {
      return { tools: tools.map(({ name, description, schema }) => ({ name, description, inputSchema: schema })) };
    },
    convert: () => attempts(tools, (tool) => convertToOpenAITool(tool).function.parameters),
    async callTool({ name, arguments: args }) {
      const call = new AIMessage({ content: "", tool_calls: [{ type: "tool_call", id: "1", name, args }] });
      const { messages } = await new ToolNode(tools).invoke({ messages: [call] });
      const { content, status } = messages[0];
      const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
      return { isError: status === "error", content: blocks };
    },
    close: () => client.close(),
  };
});
