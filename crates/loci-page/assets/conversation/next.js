// What the next session begins with: in order, with tokens; each memory can be moved and unpinned.

/** A memory at the start of a session. */
class Part {
  constructor(start, item, share) {
    Object.assign(this, { start, item });
    const { memory, tokens } = item;
    this.said = make("div", "");
    this.said.setAttribute("role", "status");
    const bar = make("div", "amount", make("div", ""));
    bar.setAttribute("aria-hidden", "true");
    bar.firstChild.style.width = `${Math.max(1, Math.round(100 * share))}%`;
    this.element = make(
      "article",
      "memory",
      make("div", "text", memory.text + (memory.is_cut ? " …" : "")),
      placeOf(memory),
      make("p", "count", say("v-tokens", tokens)),
      bar,
      this.actions(),
      this.said,
    );
    this.element.tabIndex = 0;
    this.element.setAttribute("aria-label", memory.text.slice(0, NAMED_BY));
  }

  actions() {
    const { item } = this;
    const up = button(say("v-up"), () => this.move("up"));
    const down = button(say("v-down"), () => this.move("down"));
    up.disabled = !item.can_rise;
    down.disabled = !item.can_fall;
    const bar = make("div", "actions", up, down);
    if (item.memory.may_write && item.memory.pinned) {
      bar.append(button(say("unpin"), () => this.unpin()));
    }
    return bar;
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

  move(direction) {
    const { id } = this.item.memory;
    return this.tried(async () => {
      const { back } = await host.call("move", { id, to: { direction } });
      await this.start.changed(id, `The person moved memory ${id} ${direction} at the start of sessions.`, () =>
        host.call("move", { id, to: back }),
      );
    });
  }

  unpin() {
    const { id } = this.item.memory;
    return this.tried(async () => {
      await host.call("pin", { id, pinned: false });
      await this.start.changed(id, `The person unpinned memory ${id}: sessions do not begin with it any more.`, () =>
        host.call("pin", { id, pinned: true }),
      );
    });
  }
}

/** The start of a session of a project. */
class SessionStart {
  constructor() {
    this.project = "";
    this.said = make("div", "");
    this.said.setAttribute("role", "status");
    this.list = make("div", "");
    this.choice = make("select", "");
    this.choice.setAttribute("aria-label", say("v-project"));
    this.choice.addEventListener("change", () => {
      this.project = this.choice.value;
      this.said.replaceChildren();
      return this.load();
    });
    view.replaceChildren(make("h1", "", say("v-next")), this.choice, this.said, this.list);
    this.listen();
  }

  async load() {
    const read = await host.call("session", this.project ? { project: this.project } : {});
    const { items, more, tokens, budget, held_back: held, projects } = read;
    const options = ["", ...projects].map((name) => {
      const option = make("option", "", name || say("v-every-session"));
      option.value = name;
      return option;
    });
    this.choice.replaceChildren(...options);
    this.choice.value = this.project;
    const all = Math.max(1, tokens, ...items.map((item) => item.tokens));
    this.parts = items.map((item) => new Part(this, item, item.tokens / all));
    const groups = [];
    this.parts.forEach((part) => {
      const { heading } = part.item;
      if (groups.at(-1)?.heading !== heading) {
        groups.push({ heading, list: make("ol", "") });
      }
      groups.at(-1).list.append(make("li", "", part.element));
    });
    this.list.replaceChildren(
      make("p", tokens > budget ? "failed" : "count", say(items.length === 0 ? "v-next-none" : "v-next-tokens", tokens)),
      ...groups.flatMap(({ heading, list }) => [make("h2", "", heading), list]),
      more > 0 ? make("p", "count", say("v-found-left", more)) : "",
      held > 0 ? make("p", "count", say("v-next-held", held)) : "",
    );
  }

  /** Shows the order as it is now, and offers the way back. */
  async changed(id, sentence, back) {
    await this.load();
    const undo = button(say("undo"), async () => {
      try {
        await back();
        await this.load();
        this.said.replaceChildren(make("p", "done", say("done-undone")));
        this.focus(id);
        await host.tell(`Then the person took that back: sessions begin as before.`);
      } catch (error) {
        this.said.replaceChildren(make("p", "failed", error.message));
      }
    });
    this.said.replaceChildren(make("p", "done", say("v-done"), undo));
    this.focus(id) || undo.focus();
    await host.tell(sentence);
  }

  /** Leads to a memory, if it is there. */
  focus(id) {
    const part = this.parts.find((one) => one.item.memory.id === id);
    part?.element.focus();
    return Boolean(part);
  }

  /** Has the arrows lead from memory to memory, and move them while Shift is held. */
  listen() {
    document.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
      const parts = this.parts ?? [];
      const at = parts.findIndex((part) => part.element.contains(document.activeElement));
      if (!step || event.ctrlKey || event.metaKey || event.altKey || document.activeElement === this.choice) {
        return;
      }
      const here = parts[at];
      if (event.shiftKey) {
        const may = here && (step < 0 ? here.item.can_rise : here.item.can_fall);
        if (may) {
          event.preventDefault();
          here.move(step < 0 ? "up" : "down");
        }
        return;
      }
      const next = parts[at < 0 ? 0 : at + step];
      if (next) {
        event.preventDefault();
        next.element.focus();
      }
    });
  }
}

start(async () => {
  const session = new SessionStart();
  await session.load();
});
