// Written by `loci connect opencode --hooks`.
// What you change here is lost when it is written again; `loci connect opencode --undo` removes the file.
import { spawn } from "node:child_process";

const command = [];
// The event, and the milliseconds that opencode waits for it.
const events = { "session-start": 10_000, prompt: 5_000 };

/** Returns the text that loci has for the agent at an event; none if it has none, or fails. */
function ask(event, input) {
  return new Promise((resolve) => {
    const [program, ...words] = [...command, event];
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], timeout: events[event] });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (said += text));
    child.stdin.on("error", () => {});
    child.on("error", () => resolve(undefined));
    child.on("close", () => {
      try {
        resolve(JSON.parse(said).additional_context);
      } catch {
        resolve(undefined);
      }
    });
    child.stdin.end(JSON.stringify(input));
  });
}

export const Loci = async ({ directory }) => {
  // The sessions that the agent was told nothing in yet, each with what it begins with.
  const begun = new Map();
  return {
    event: async ({ event }) => {
      const { info, sessionID } = event.properties ?? {};
      // Those of subagents have a parent.
      if (event.type === "session.created" && !info.parentID) begun.set(info.id, "startup");
      if (event.type === "session.compacted") begun.set(sessionID, "compact");
      if (event.type === "session.deleted") begun.delete(info.id);
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const prompt = parts.flatMap((part) => (part.type === "text" && !part.synthetic ? [part.text] : [])).join("\n");
      const common = { session_id: sessionID, cwd: directory };
      const source = begun.get(sessionID);
      begun.delete(sessionID);
      const texts = await Promise.all([
        source && ask("session-start", { ...common, source }),
        prompt && ask("prompt", { ...common, prompt }),
      ]);
      texts.forEach((text, at) => {
        if (!text) return;
        // Parts are ordered by their ids, and the letters come after those of opencode's own.
        const id = `prt_loci_${at}_${message.id}`;
        parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true });
      });
    },
  };
};
