"use strict";
// What every view shares: its words, and the connection to the host (MCP Apps, 2026-01-26).

const settings = JSON.parse(document.querySelector("#settings").textContent);
const view = document.querySelector("#view");
let words = settings.words.en;

/** A word of the person's language, with a value in it. */
function say(name, value) {
  return (words[name] ?? name).replace("{}", value ?? "");
}

/** An element with a class and children; a text is shown as text, whatever it says. */
function make(name, kind, ...children) {
  const element = document.createElement(name);
  if (kind) {
    element.className = kind;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A button that does something, and cannot be pressed again until that is done. */
function button(text, press, kind) {
  const made = make("button", kind, text);
  made.type = "button";
  made.addEventListener("click", async () => {
    made.disabled = true;
    try {
      await press();
    } finally {
      made.disabled = false;
    }
  });
  return made;
}

const host = {
  context: {},
  capabilities: {},
  waiting: new Map(),
  sent: 0,
  /** The user for whom the call acted, if its tool set names one. */
  user: undefined,
  /** The arguments of the call that the view stands beside. */
  given: {},
  /** What was done in this view, for the model. */
  done: [],

  send(message) {
    window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  },

  request(method, params) {
    this.sent += 1;
    const id = this.sent;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ id, method, params });
    });
  },

  /** Calls a tool of views, and returns what it answers. */
  async call(tool, given) {
    const user = this.user === undefined ? {} : { user_id: this.user };
    const name = `${settings.prefix}loci_view_${tool}`;
    const result = await this.request("tools/call", { name, arguments: { ...given, ...user } });
    if (result.isError) {
      throw new Error(result.content?.[0]?.text ?? say("error-title"));
    }
    return result.structuredContent ?? {};
  },

  /** Tells the model what the person did, without an answer of the model. The host keeps the last telling. */
  async tell(sentence) {
    this.done.push(sentence);
    const content = [{ type: "text", text: this.done.join("\n") }];
    if (this.capabilities.updateModelContext) {
      await this.request("ui/update-model-context", { content }).catch(() => {});
    } else if (this.capabilities.message) {
      await this.request("ui/message", { role: "user", content: [{ type: "text", text: sentence }] }).catch(() => {});
    }
  },

  /** Takes the theme, the language and the fonts of the host. */
  take(context) {
    Object.assign(this.context, context);
    const { theme, locale, styles, timeZone } = this.context;
    try {
      new Intl.DateTimeFormat("en", { timeZone });
    } catch {
      this.context.timeZone = undefined;
    }
    const root = document.documentElement;
    if (theme === "light" || theme === "dark") {
      root.dataset.theme = theme;
    }
    const font = styles?.variables?.["--font-sans"];
    if (typeof font === "string") {
      root.style.setProperty("--font-sans", font);
    }
    const language = String(locale ?? navigator.language).slice(0, 2);
    root.lang = settings.words[language] ? language : "en";
    words = settings.words[root.lang];
  },

  /** Answers a request of the host. */
  answer({ id, method }) {
    if (method === "ping" || method === "ui/resource-teardown") {
      this.send({ id, result: {} });
    } else {
      this.send({ id, error: { code: -32601, message: `there is no method ${method} here` } });
    }
  },

  receive(message, show) {
    const { id, method, params } = message;
    if (method === undefined) {
      const waits = this.waiting.get(id);
      this.waiting.delete(id);
      if (message.error) {
        waits?.reject(new Error(String(message.error.message)));
      } else {
        waits?.resolve(message.result ?? {});
      }
    } else if (id !== undefined) {
      this.answer(message);
    } else if (method === "ui/notifications/tool-input") {
      const given = params?.arguments;
      this.given = given && typeof given === "object" ? given : {};
    } else if (method === "ui/notifications/tool-result") {
      show(params ?? {});
    } else if (method === "ui/notifications/host-context-changed") {
      this.take(params ?? {});
    } else if (method === "ui/notifications/tool-cancelled") {
      view.replaceChildren(make("p", "", say("v-cancelled")));
    }
  },

  /** Connects, and has `show` show the result of the tool. Only the window around this one is listened to. */
  async connect(show) {
    window.addEventListener("message", (event) => {
      if (event.source === window.parent && event.data?.jsonrpc === "2.0") {
        this.receive(event.data, show);
      }
    });
    const result = await this.request("ui/initialize", {
      protocolVersion: "2026-01-26",
      appInfo: { name: "loci", version: settings.version },
      appCapabilities: {},
    });
    this.capabilities = result.hostCapabilities ?? {};
    this.take(result.hostContext ?? {});
    document.title = say(settings.title);
    this.send({ method: "ui/notifications/initialized", params: {} });
    new ResizeObserver(() => {
      const height = Math.ceil(document.body.getBoundingClientRect().height);
      this.send({ method: "ui/notifications/size-changed", params: { height } });
    }).observe(document.body);
  },
};

/** Shows the views of a result by `draw`, or its text where the host keeps a view from reading memories. */
function start(draw) {
  host.connect(async (result) => {
    const beside = result._meta?.["loci/view"];
    const parts = Array.isArray(result.content) ? result.content : [];
    const texts = parts.map((part) => part?.text).filter((text) => typeof text === "string");
    try {
      if (!beside || result.isError || !host.capabilities.serverTools) {
        throw new Error(texts.join("\n\n") || say("filed-none"));
      }
      host.user = typeof beside.user_id === "string" ? beside.user_id : undefined;
      await draw(beside);
    } catch (error) {
      view.replaceChildren(make("p", "text", error.message));
    }
  });
}
