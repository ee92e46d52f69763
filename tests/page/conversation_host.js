// A host as the SDKs make one: the client of MCP and the bridge of MCP Apps, in a page of the tests.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, PostMessageTransport, RESOURCE_MIME_TYPE } from "@modelcontextprotocol/ext-apps/app-bridge";

const info = { name: "host-of-the-tests", version: "1" };
const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } };
const capabilities = { serverTools: {}, updateModelContext: { text: {} }, message: { text: {} } };

/** Shows the view of a tool in the only frame of the page, and keeps what it told the model and said to the person. */
window.show = async ({ url, token, mode, tool, given, context }) => {
  const client = new Client(info, { capabilities: { extensions }, versionNegotiation: { mode } });
  const headers = { Authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const { tools } = await client.listTools();
  const uri = tools.find(({ name }) => name === tool)._meta.ui.resourceUri;
  const { contents } = await client.readResource({ uri });
  const result = await client.callTool({ name: tool, arguments: given });
  Object.assign(window, { told: [], said: [], result, height: 0 });
  const bridge = new AppBridge(client, info, capabilities, { hostContext: context });
  bridge.onupdatemodelcontext = async ({ content }) => {
    window.told.push(content[0].text);
    return {};
  };
  bridge.onmessage = async ({ content }) => {
    window.said.push(content[0].text);
    return {};
  };
  const frame = document.createElement("iframe");
  frame.title = uri;
  frame.sandbox = "allow-scripts";
  frame.srcdoc = contents[0].text;
  document.body.replaceChildren(frame);
  bridge.onsizechange = ({ height }) => {
    window.height = height;
    frame.style.height = `${height}px`;
  };
  bridge.oninitialized = () => {
    bridge.sendToolInput({ arguments: given });
    bridge.sendToolResult(result);
  };
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  window.bridge = bridge;
  window.frame = frame;
  return { texts: result.content.map(({ text }) => text), bytes: new Blob([contents[0].text]).size };
};

document.body.textContent = "ready";
