// What was found: the memories of a reply, each with what a person can do to it.

start(async ({ memories }) => {
  const found = Array.isArray(memories) ? memories.filter((one) => one && typeof one === "object") : [];
  const shown = await read(found.map((one) => one.id));
  const reasons = new Map(found.map((one) => [one.id, one]));
  const rows = shown.map((memory) => new Row(memory, reasons.get(memory.id) ?? {}));
  const list = make("ol", "", ...rows.map((row) => make("li", "", row.element)));
  const left = found.length - shown.length;
  view.replaceChildren(
    make("h1", "", say("v-found")),
    make("p", "count", shown.length === 0 ? say("v-found-none") : say("v-found-count", shown.length)),
    list,
    left > 0 ? make("p", "count", say("v-found-left", left)) : "",
  );
  listenToKeys(rows);
});
