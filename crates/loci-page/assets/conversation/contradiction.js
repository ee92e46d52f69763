// A contradiction: what was stored beside what it seems to contradict, and the ways to decide.

/** The most words of a text that are compared. */
const COMPARED_WORDS = 400;

/** The words of two texts, each with whether the other text has it in the same order. */
function compared(one, other) {
  const [left, right] = [one, other].map((text) => text.split(/(\s+)/).filter(Boolean));
  if (Math.max(left.length, right.length) > 2 * COMPARED_WORDS) {
    return [left, right].map((side) => side.map((word) => [word, true]));
  }
  const lengths = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      const next = lengths[i + 1][j + 1] + 1;
      lengths[i][j] = left[i] === right[j] ? next : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const sides = [left.map((word) => [word, false]), right.map((word) => [word, false])];
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    if (left[i] === right[j]) {
      sides[0][i][1] = sides[1][j][1] = true;
      i += 1;
      j += 1;
    } else if (lengths[i + 1][j] >= lengths[i][j + 1]) {
      i += 1;
    } else {
      j += 1;
    }
  }
  return sides;
}

/** A text whose words that differ are marked; white space is not. */
function marked(pieces) {
  const shown = pieces.map(([word, isShared]) => (isShared || !word.trim() ? word : make("mark", "", word)));
  return make("div", "text", ...shown);
}

/** A pair of memories and its decision. */
class Pair {
  constructor(newer, older) {
    this.newer = newer;
    this.older = older;
    this.said = make("div", "");
    this.said.setAttribute("role", "status");
    this.element = make("section", "");
    this.element.setAttribute("aria-label", say("v-contradiction"));
    this.draw();
  }

  draw() {
    const [newer, older] = compared(this.newer.text, this.older.text).map(marked);
    const side = (title, text, memory) => make("div", "side", make("h2", "", title), text, placeOf(memory));
    this.ways = make("div", "ways", ...this.choices());
    this.element.replaceChildren(
      make("div", "pair", side(say("v-stored-now"), newer, this.newer), side(say("v-stored-before"), older, this.older)),
      this.ways,
      this.said,
    );
  }

  /** The four ways, each with what it does. */
  choices() {
    const ways = [
      ["v-both", true, () => this.keepBoth()],
      ["v-update", this.older.may_write && this.newer.may_write, () => this.update()],
      ["v-replace", this.older.may_write, () => this.replace()],
      ["v-forget-old", this.older.may_write, () => this.forgetOld()],
    ];
    return ways.map(([name, may, decide]) => {
      const press = button(say(name), () => this.tried(decide));
      press.disabled = !may;
      return make("div", "", press, make("p", "how", say(may ? `${name}-how` : "v-not-yours")));
    });
  }

  async tried(work) {
    try {
      await work();
    } catch (error) {
      const failed = make("p", "failed", error.message);
      failed.setAttribute("role", "alert");
      this.said.replaceChildren(failed);
    }
  }

  /** Says what was decided, to the person and to the model, and offers the way back. */
  async decided(name, sentence, back) {
    this.ways.hidden = true;
    const undo = button(say("undo"), () =>
      this.tried(async () => {
        await back();
        const [newer, older] = await read([this.newer.id, this.older.id], true);
        Object.assign(this, { newer: newer ?? this.newer, older: older ?? this.older });
        this.draw();
        this.said.replaceChildren(make("p", "done", say("done-undone")));
        this.ways.querySelector("button").focus();
        await host.tell("Then the person took that decision back: the contradiction is open again.");
      }),
    );
    this.said.replaceChildren(make("p", "done", say(`${name}-done`), undo));
    undo.focus();
    await host.tell(sentence);
  }

  async keepBoth() {
    const pair = { newer: this.newer.id, older: this.older.id };
    await host.call("dismiss", { ...pair, dismissed: true });
    const sentence = `The person decided about the contradiction: memories ${pair.newer} and ${pair.older} are both right. Do not ask again.`;
    await this.decided("v-both", sentence, () => host.call("dismiss", { ...pair, dismissed: false }));
  }

  /** Gives the old memory the new text; the new memory is then one too many. */
  async update() {
    const { newer, older } = this;
    const edit = (content, revision) => host.call("edit", { id: older.id, content, revision });
    const edited = (await edit(newer.text, older.revision)).memory;
    try {
      await host.call("forget", { id: newer.id, forgotten: true });
    } catch (error) {
      await edit(older.text, edited.revision);
      throw error;
    }
    const sentence = `The person decided about the contradiction: memory ${older.id} has the new text now, and memory ${newer.id} is forgotten. The new text is right.`;
    await this.decided("v-update", sentence, async () => {
      await host.call("forget", { id: newer.id, forgotten: false });
      await edit(older.text, edited.revision);
    });
  }

  async replace() {
    const pair = { kept: this.newer.id, other: this.older.id };
    const { undo } = await host.call("keep", pair);
    const sentence = `The person decided about the contradiction: memory ${pair.kept} is right and replaces memory ${pair.other}.`;
    await this.decided("v-replace", sentence, () => host.call("keep", { ...pair, undo }));
  }

  async forgetOld() {
    const { id } = this.older;
    await host.call("forget", { id, forgotten: true });
    const sentence = `The person decided about the contradiction: memory ${this.newer.id} is right, and memory ${id} is forgotten.`;
    await this.decided("v-forget-old", sentence, () => host.call("forget", { id, forgotten: false }));
  }
}

start(async ({ memories, contradicted }) => {
  const stored = Array.isArray(memories) ? memories[0] : undefined;
  const older = Array.isArray(contradicted) ? contradicted : [];
  const [newer, ...others] = await read([stored?.id, ...older], true);
  if (!newer || newer.id !== stored?.id) {
    throw new Error(say("v-gone"));
  }
  if (others.length === 0) {
    const row = new Row(newer, {});
    view.replaceChildren(make("h1", "", say("done-stored")), row.element);
    return;
  }
  view.replaceChildren(
    make("h1", "", say("v-contradiction")),
    make("p", "", say("v-contradiction-how")),
    ...others.map((other) => new Pair(newer, other).element),
  );
});
