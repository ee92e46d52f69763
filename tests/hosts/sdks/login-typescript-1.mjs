// Logs in with the OAuth client of the TypeScript SDK 1.x, and lists the tools; as login-python.py does. The folder where
// the client is installed is the first argument.

import fs from "node:fs";
import readline from "node:readline";

import { load } from "./jobs.mjs";

const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { UnauthorizedError } = load("@modelcontextprotocol/sdk/client/auth.js");
const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");

const [url, file] = process.argv.slice(3);
const redirect = "http://127.0.0.1:9/callback";
const kept = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : {};
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

function keep(name, value) {
  kept[name] = value;
  fs.writeFileSync(file, JSON.stringify(kept));
}

let verifier;
const authProvider = {
  redirectUrl: redirect,
  clientMetadata: { client_name: "TypeScript SDK", redirect_uris: [redirect] },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => keep("client", client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => keep("tokens", tokens),
  invalidateCredentials: (scope) => {
    if (scope === "all" || scope === "tokens") keep("tokens", undefined);
  },
  codeVerifier: () => verifier,
  saveCodeVerifier: (made) => {
    verifier = made;
  },
  redirectToAuthorization: (address) => say({ visit: address.toString() }),
};

async function tools() {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  const client = new Client({ name: "logins", version: "1" });
  try {
    await client.connect(transport);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
    const { value } = await lines.next();
    await transport.finishAuth(new URL(value).searchParams.get("code"));
    return tools();
  }
  const listed = await client.listTools();
  await client.close();
  return listed.tools;
}

say({ tools: (await tools()).map((tool) => tool.name) });
process.exit(0);
