// Ten calls by the client that a generator made, and an error of the declared type. The arguments are the URL and a token.
import { client } from "./client/client.gen";
import * as loci from "./client/sdk.gen";
import type { Error as Refused, Outcome, StoredMemory } from "./client/types.gen";

const [url, token] = process.argv.slice(2);
client.setConfig({ baseUrl: `${url}/api/v1`, auth: () => token });

function holds(condition: boolean, what: string): void {
  if (!condition) {
    throw new Error(what);
  }
  console.log(what);
}

async function calls(): Promise<void> {
  const body = { content: "The staging server restarts every Monday at six.", wing: "shop", idempotency_key: "one" };
  const stored = await loci.memoriesStore({ body, throwOnError: true });
  const memory: StoredMemory = stored.data;
  holds(memory.is_new, "memoriesStore");
  const again = await loci.memoriesStore({ body, throwOnError: true });
  holds(!again.data.is_new && again.data.memory.id === memory.memory.id, "memoriesStore again");
  await loci.memoriesStore({ body: { content: "The live server restarts never." }, throwOnError: true });

  const first = await loci.memories({ query: { limit: 1 }, throwOnError: true });
  holds(first.data.items.length === 1 && first.data.total === 2, "memories");
  const second = await loci.memories({ query: { limit: 1, cursor: first.data.next_cursor ?? "" }, throwOnError: true });
  holds(second.data.items[0].id !== first.data.items[0].id && second.data.next_cursor === null, "memories, the next part");

  const found = await loci.search({ query: { q: "when is staging down?" }, throwOnError: true });
  holds(found.data.hits[0].memory.id === memory.memory.id, "search");
  const tagged = await loci.selectedTag({ body: { id: [memory.memory.id], add: "ops" }, throwOnError: true });
  const outcome: Outcome = tagged.data;
  holds(outcome.changed === 1, "selectedTag");
  const shown = await loci.memory({ path: { id: memory.memory.id }, throwOnError: true });
  holds(shown.data.memory.tags.includes("ops"), "memory");
  const added = await loci.timeAdd({
    body: { subject: "staging", predicate: "restarts on", object: "Monday" },
    throwOnError: true,
  });
  holds(added.data.changed === 1, "timeAdd");
  const pinned = await loci.nextSessionAdd({ body: { content: "Answer in English.", type: "rule" }, throwOnError: true });
  holds(pinned.data.changed === 1, "nextSessionAdd");
  const session = await loci.nextSession({ query: { project: "shop" }, throwOnError: true });
  holds(session.data.text.includes("Answer in English."), "nextSession");
  const backups = await loci.backups({ throwOnError: true });
  holds(backups.data.items.length === 0, "backups");
  const counted = await loci.personDelete({ path: { name: "bob" }, query: { dry_run: true }, throwOnError: true });
  holds(counted.data.dry_run && counted.data.memories === 0, "personDelete");

  const { error, response } = await loci.memories({ query: { limit: 1000 } });
  const refused = error as Refused;
  holds(response?.status === 400 && refused.error.argument === "limit", "an error");
}

calls().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
