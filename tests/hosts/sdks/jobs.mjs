// Answers jobs for the TypeScript programs beside it, as jobs.py does for those in Python: a line of stdin is a list of
// jobs, a line of stdout their results. The folder where the client is installed is the program's argument.

import { createRequire } from "node:module";
import readline from "node:readline";

/** Loads a module of the client's installation. */
export const load = createRequire(`${process.argv[2]}/`);

/** Answers each job with a session of its own, which `connect(job)` opens. */
export async function answer(connect) {
  const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const write = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
  const pause = async () => {
    write({ paused: true });
    await lines.next();
  };
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    write(await Promise.all(JSON.parse(line.value).map((job) => result(connect, job, pause))));
  }
}

async function result(connect, job, pause) {
  const done = { protocol: null, tools: [], converted: [], results: [], raised: null };
  let client;
  try {
    client = await connect(job);
    done.protocol = client.getNegotiatedProtocolVersion?.() ?? null;
    if (job.list) {
      const { tools } = await client.listTools();
      done.tools = tools.map((tool) => ({ name: tool.name, description: tool.description, schema: tool.inputSchema }));
    }
    if (job.convert) done.converted = await client.convert();
    for (const call of job.calls ?? []) {
      if (call.pause) await pause();
      else done.results.push(await called(client, call));
    }
  } catch (error) {
    done.raised = words(error);
  }
  await client?.close();
  return done;
}

async function called(client, call) {
  try {
    const result = await client.callTool({ name: call.tool, arguments: call.arguments });
    const text = result.content.filter((block) => block.type === "text").map((block) => block.text);
    return { is_error: result.isError ?? false, text: text.join("\n"), raised: null };
  } catch (error) {
    return { is_error: true, text: "", raised: words(error) };
  }
}

/** The schemas that `convert(tool)` gives, or the reason why it gives none. */
export function attempts(tools, convert) {
  return tools.map((tool) => {
    try {
      return { name: tool.name, schema: convert(tool), raised: null };
    } catch (error) {
      return { name: tool.name, schema: null, raised: words(error) };
    }
  });
}

function words(error) {
  const cause = error.cause ? `\n${words(error.cause)}` : "";
  return `${error.name}: ${error.message}${cause}`;
}

/** The login of a program that has no token yet. */
export const login = {
  redirectUrl: "http://127.0.0.1:9/callback",
  clientMetadata: { client_name: "hosts", redirect_uris: ["http://127.0.0.1:9/callback"] },
  clientInformation() {},
  saveClientInformation() {},
  tokens() {},
  saveTokens() {},
  codeVerifier() {
    return "";
  },
  saveCodeVerifier() {},
  redirectToAuthorization(url) {
    throw new Error(`a person would have to open ${url}`);
  },
};

/** The options of an HTTP transport for a job. */
export function options(job) {
  return { requestInit: { headers: job.headers }, authProvider: job.oauth ? login : undefined };
}
