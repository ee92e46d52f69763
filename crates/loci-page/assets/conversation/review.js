// Review: what waits for a decision of the person, one at a time, by keys.

/** The name of each kind of items. */
const KINDS = {
  order: "v-kind-order",
  arrived: "v-kind-arrived",
  contradiction: "v-kind-contradiction",
  duplicate: "v-kind-duplicate",
  directive: "v-kind-directive",
};

class Review {
  constructor() {
    this.at = 0;
    this.said = make("div", "");
    this.said.setAttribute("role", "status");
    this.place = make("div", "");
    this.title = make("h1", "", say("v-review"));
    this.title.tabIndex = -1;
    view.replaceChildren(this.title, this.said, this.place);
    document.addEventListener("keydown", (event) => this.key(event));
  }

  async load() {
    const read = await host.call("review", {});
    Object.assign(this, { items: read.items, more: read.more, onPage: read.on_page });
    this.at = Math.min(this.at, Math.max(0, this.items.length - 1));
    this.draw();
  }

  draw() {
    const item = this.items[this.at];
    const left = this.items.length + this.more;
    const rest = this.onPage > 0 ? make("p", "count", say("v-review-page", this.onPage)) : "";
    if (!item) {
      this.place.replaceChildren(make("p", "", say("v-review-none")), rest);
      return;
    }
    const text = (memory) => make("div", "side", make("div", "text", memory.text + (memory.is_cut ? " …" : "")), placeOf(memory));
    const pair = item.other
      ? make("div", "pair", make("div", "", make("h2", "", say("v-newer")), text(item.memory)), make("div", "", make("h2", "", say("v-older")), text(item.other)))
      : text(item.memory);
    this.choices = this.ways(item);
    const buttons = this.choices.map(({ name, may, decide, sentence }, number) => {
      const press = button(`${number + 1} · ${say(name)}`, () => this.decide(decide, sentence));
      press.disabled = !may;
      return press;
    });
    const previous = button(say("v-previous"), () => this.go(-1));
    const next = button(say("v-next-item"), () => this.go(1));
    previous.disabled = this.at === 0;
    next.disabled = this.at >= this.items.length - 1;
    this.place.replaceChildren(
      make("p", "count", `${this.at + 1} / ${left}`),
      make("h2", "", say(KINDS[item.kind] ?? "v-review")),
      pair,
      item.orders?.length ? make("ol", "orders", ...item.orders.map((order) => make("li", "", make("mark", "", order)))) : "",
      make("div", "ways", ...buttons),
      make("div", "actions", previous, next),
      make("p", "count", say("v-review-keys")),
      rest,
    );
  }

  /** The decisions about an item, each with its change, which returns the way back. */
  ways({ key, kind, memory, other, may_accept: mayAccept }) {
    const { id } = memory;
    const settled = (given) => async () => {
      await host.call("settle", { ...given, settled: true });
      return () => host.call("settle", { ...given, settled: false });
    };
    const forgotten = (which) => async () => {
      await host.call("forget", { id: which, forgotten: true });
      return () => host.call("forget", { id: which, forgotten: false });
    };
    const kept = (one, another) => async () => {
      const pair = { kept: one, other: another };
      const { undo } = await host.call("keep", pair);
      return () => host.call("keep", { ...pair, undo });
    };
    const forget = { name: "forget", may: memory.may_write, decide: forgotten(id), sentence: `The person forgot memory ${id}.` };
    const dismiss = (name, sentence) => ({ name, may: true, decide: settled({ item: key }), sentence });
    if (other) {
      return [
        dismiss("v-both", `The person keeps both memories ${id} and ${other.id}.`),
        { name: "v-keep-newer", may: other.may_write, decide: kept(id, other.id), sentence: `The person decided: memory ${id} replaces memory ${other.id}.` },
        { name: "v-keep-older", may: memory.may_write, decide: kept(other.id, id), sentence: `The person decided: memory ${other.id} replaces memory ${id}.` },
      ];
    }
    if (kind === "arrived") {
      return [
        { name: "v-accept", may: mayAccept, decide: settled({ accept: id }), sentence: `The person accepted memory ${id}, which came in a file.` },
        forget,
      ];
    }
    return [
      dismiss(kind === "order" ? "v-let-pass" : "v-as-note", `The person looked at memory ${id}, and leaves it as it is.`),
      forget,
    ];
  }

  go(step) {
    this.at = Math.min(Math.max(0, this.at + step), this.items.length - 1);
    this.draw();
    this.title.focus();
  }

  async decide(work, sentence) {
    try {
      const back = await work();
      await this.load();
      this.undo = async () => {
        this.undo = undefined;
        await back();
        await this.load();
        this.said.replaceChildren(make("p", "done", say("done-undone")));
        this.title.focus();
        await host.tell("Then the person took that decision back.");
      };
      const undo = button(say("undo"), () => this.tried(() => this.undo?.()));
      this.said.replaceChildren(make("p", "done", say("v-done"), undo));
      this.title.focus();
      await host.tell(sentence);
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error) {
    const failed = make("p", "failed", error.message);
    failed.setAttribute("role", "alert");
    this.said.replaceChildren(failed);
  }

  tried(work) {
    return work().catch((error) => this.failed(error));
  }

  /** A number decides, j and k lead on and back, z takes the last decision back. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !this.items) {
      return;
    }
    const step = { ArrowRight: 1, j: 1, ArrowLeft: -1, k: -1 }[event.key];
    const buttons = [...this.place.querySelectorAll(".ways button")];
    const press = buttons[Number(event.key) - 1];
    if (step && this.items.length > 0) {
      event.preventDefault();
      this.go(step);
    } else if (press && !press.disabled) {
      event.preventDefault();
      press.click();
    } else if (event.key === "z" && this.undo) {
      event.preventDefault();
      this.tried(() => this.undo());
    }
  }
}

start(async () => {
  const review = new Review();
  await review.load();
});
