// A memory with what a person can do to it.

/** The most memories that one call reads. */
const READ_AT_ONCE = 50;
/** The characters by which a memory is named in a message. */
const NAMED_BY = 200;

/** Reads memories by their ids, in their order. */
async function read(ids, whole) {
  const known = ids.filter((id) => typeof id === "string").slice(0, READ_AT_ONCE);
  if (known.length === 0) {
    return [];
  }
  const { memories } = await host.call("memories", { ids: known, ...(whole ? { whole } : {}) });
  return memories ?? [];
}

/** The place of a memory, its type, author and time. */
function placeOf(memory) {
  const moment = new Date(memory.created_at);
  const { timeZone } = host.context;
  const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeZone });
  const time = make("time", "", Number.isNaN(moment.valueOf()) ? "" : format.format(moment));
  time.dateTime = memory.created_at;
  const place = [memory.project ?? say("global"), memory.topic === memory.type ? null : memory.topic];
  return make(
    "p",
    "line place",
    make("span", "", place.filter(Boolean).join(" / ")),
    make("span", "", memory.type),
    memory.file ? make("span", "", memory.file) : null,
    memory.author ? make("span", "", say("by-app", memory.author)) : null,
    time,
    memory.pinned ? make("span", "pinned", say("pinned")) : null,
    memory.visibility === "private" ? null : make("span", "shared", say("shared")),
    memory.replaced ? make("span", "", say("replaced")) : null,
  );
}

/** Why a memory was found, as words and numbers. */
function whyOf(found) {
  if (typeof found.grade !== "string") {
    return null;
  }
  const percent = (share) => `${Math.round(100 * (Number(share) || 0))} %`;
  const numbers = [
    `${say("b-why-by-words")} ${percent(found.words)}`,
    `${say("b-why-by-meaning")} ${percent(found.meaning)}`,
    say("b-words-found", percent(found.coverage)),
  ];
  const details = make("details", "why", make("summary", "", say("b-why-open")), make("p", "why", numbers.join(" · ")));
  const grade = ["strong", "fair", "weak"].includes(found.grade) ? found.grade : "fair";
  return make("div", "line", make("span", `grade ${grade} place`, say(`b-match-${grade}`)), details);
}

/** A memory in a list, which stays while what it shows changes. */
class Row {
  constructor(memory, found) {
    this.memory = memory;
    this.found = found;
    this.element = make("article", "memory");
    this.element.tabIndex = 0;
    this.said = make("div", "");
    this.said.setAttribute("role", "status");
    this.draw();
  }

  draw() {
    const { memory } = this;
    this.element.toggleAttribute("data-forgotten", memory.forgotten);
    this.text = make("div", "text", memory.text + (memory.is_cut ? " …" : ""));
    this.element.setAttribute("aria-label", memory.text.slice(0, NAMED_BY));
    this.element.replaceChildren(
      memory.title ? make("p", "title", memory.title) : "",
      this.text,
      placeOf(memory),
      whyOf(this.found) ?? "",
      this.actions(),
      this.said,
    );
  }

  actions() {
    const { memory } = this;
    const bar = make("div", "actions");
    if (memory.is_cut) {
      bar.append(button(say("v-whole"), () => this.tried(() => this.open())));
    }
    if (host.capabilities.message) {
      bar.append(button(say("v-more"), () => this.tried(() => this.ask())));
    }
    if (!memory.may_write) {
      return bar;
    }
    if (memory.forgotten) {
      bar.append(button(say("unforget"), () => this.change("forget", { forgotten: false }, { forgotten: true }, "restored")));
      return bar;
    }
    const { pinned } = memory;
    const shared = memory.visibility !== "private";
    bar.append(
      button(say(pinned ? "unpin" : "pin"), () => this.change("pin", { pinned: !pinned }, { pinned }, pinned ? "unpinned" : "pinned")),
      button(say("edit"), () => this.tried(() => this.edit())),
    );
    if (memory.visibility !== "common") {
      const said = shared ? "no longer shared" : "shared";
      bar.append(button(say(shared ? "unshare" : "share"), () => this.change("share", { shared: !shared }, { shared }, said)));
    }
    bar.append(button(say("forget"), () => this.change("forget", { forgotten: true }, { forgotten: false }, "forgotten"), "danger"));
    return bar;
  }

  /** Does something, and says what went wrong. */
  async tried(work) {
    try {
      await work();
    } catch (error) {
      const failed = make("p", "failed", error.message);
      failed.setAttribute("role", "alert");
      this.said.replaceChildren(failed);
    }
  }

  /** Makes a change, shows the memory as it is then, and offers the way back. */
  async change(tool, given, back, said) {
    await this.tried(async () => {
      const { id } = this.memory;
      this.memory = (await host.call(tool, { id, ...given })).memory;
      await this.changed(`The person had memory ${id} ${said}.`, () => host.call(tool, { id, ...back }));
    });
  }

  async changed(sentence, back) {
    this.draw();
    const undo = button(say("undo"), () =>
      this.tried(async () => {
        this.memory = (await back()).memory;
        this.draw();
        this.said.replaceChildren(make("p", "done", say("done-undone")));
        this.element.focus();
        await host.tell(`Then the person took that back: memory ${this.memory.id} is as before.`);
      }),
    );
    this.said.replaceChildren(make("p", "done", say("v-done"), undo));
    undo.focus();
    await host.tell(sentence);
  }

  /** Shows the whole text. */
  async open() {
    const [whole] = await read([this.memory.id], true);
    if (whole) {
      this.memory = whole;
      this.draw();
      this.element.focus();
    }
  }

  /** Asks the host for more of this, as the person would. */
  async ask() {
    const text = say("v-more-message", this.memory.text.slice(0, NAMED_BY));
    const { isError } = await host.request("ui/message", { role: "user", content: [{ type: "text", text }] });
    if (isError) {
      throw new Error(say("v-more-refused"));
    }
  }

  /** Opens a field with the whole text. */
  async edit() {
    const [whole] = await read([this.memory.id], true);
    if (!whole) {
      throw new Error(say("v-gone"));
    }
    const field = make("textarea", "");
    field.value = whole.text;
    field.setAttribute("aria-label", say("text"));
    const save = button(say("save"), () =>
      this.tried(async () => {
        const { id, revision } = whole;
        const edited = await host.call("edit", { id, content: field.value, revision });
        this.memory = edited.memory;
        const back = () => host.call("edit", { id, content: whole.text, revision: edited.memory.revision });
        await this.changed(`The person edited memory ${id}; its text is now: ${field.value}`, back);
      }),
    );
    const cancel = button(say("v-cancel"), () => {
      this.draw();
      this.element.focus();
    });
    this.text.replaceChildren(field, make("div", "actions", save, cancel));
    field.focus();
  }
}

/** Has the arrows, j and k lead from memory to memory. */
function listenToKeys(rows) {
  document.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    const at = rows.findIndex((row) => row.element.contains(document.activeElement));
    const types = document.activeElement?.tagName === "TEXTAREA";
    if (!step || types || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const next = rows[at < 0 ? 0 : at + step];
    if (next) {
      event.preventDefault();
      next.element.focus();
    }
  });
}
