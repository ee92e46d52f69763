// Adds to pages that work without it: local times, live updates, selection and keys.

/** Shows the times of a part of the page in the zone of the reader. */
function showLocalTimes(part) {
  const language = document.documentElement.lang;
  const format = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
  const clock = new Intl.DateTimeFormat(language, { timeStyle: "short" });
  for (const time of part.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.valueOf())) {
      continue;
    }
    if ("ago" in time.dataset) {
      time.title = format.format(moment);
    } else {
      time.title = time.textContent;
      time.textContent = ("clock" in time.dataset ? clock : format).format(moment);
    }
  }
}

/** Shows the buttons that need this script, such as those that copy the text before them. */
function showButtons(part) {
  for (const button of part.querySelectorAll("[data-keys]")) {
    button.hidden = false;
  }
  for (const button of part.querySelectorAll("[data-copy]")) {
    button.hidden = !navigator.clipboard;
  }
}

/** The time for which the result of a change is shown, in milliseconds; the history keeps it. */
const SHOWN_FOR = 10_000;

/** Says something for a moment, also to those who hear the page. */
function say(text) {
  const said = document.querySelector("#said");
  said.textContent = text;
  setTimeout(() => {
    if (said.textContent === text) {
      said.textContent = "";
    }
  }, SHOWN_FOR);
}

/** Announces the result of a change, and hides it after a while, unless somebody is at it or it has a list to read. */
function showResult() {
  const result = document.querySelector(".outcome:not([data-seen])");
  if (!result) {
    return;
  }
  result.dataset.seen = "";
  result.querySelector("[data-close-toast]").hidden = false;
  const said = result.querySelector("[role=status]");
  const text = said.textContent;
  // What is there from the start is not announced; what changes is.
  said.textContent = "";
  setTimeout(() => {
    said.textContent = text;
  });
  const hide = () => {
    if (result.matches(":hover, :focus-within")) {
      setTimeout(hide, SHOWN_FOR);
    } else {
      result.hidden = true;
    }
  };
  if (!result.querySelector("details")) {
    setTimeout(hide, SHOWN_FOR);
  }
}

/** Opens the form that the address names, e.g. to edit the memory of a row. */
function openNamed() {
  const named = document.getElementById(window.location.hash.slice(1));
  if (named?.matches("details:not([open])")) {
    named.open = true;
    named.querySelector("textarea, input:not([type=hidden])")?.focus();
  }
}

let events;

/** Listens to changes as long as the page has a part that shows them. */
function listen() {
  const live = document.querySelector("[data-events]");
  if (!live) {
    events?.close();
    events = undefined;
  } else if (!events || events.readyState === EventSource.CLOSED) {
    events = new EventSource(live.dataset.events);
    events.addEventListener("change", follow);
    events.addEventListener("backup", showBackup);
  }
}

/** Shows how far a backup is. */
function showBackup(event) {
  for (const bar of document.querySelectorAll("progress[data-backup]")) {
    bar.max = 100;
    bar.value = Number(event.data);
  }
}

let isBehind = false;

/** Asks for the part that shows changes; once more after the answer if one is under way, which replaces that part. */
function follow() {
  isBehind = document.querySelector("[data-events]")?.classList.contains("htmx-request") ?? false;
  if (!isBehind) {
    window.htmx.trigger(document.body, "memories");
  }
}

/** Returns the rows that keys move through. */
const rows = () => [...document.querySelectorAll("[data-row]")];

/** Moves the focus to the next or the previous row. */
function moveBy(step) {
  const all = rows();
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const row = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  row?.querySelector("a, input")?.focus();
}

/** The time in which a second key follows `g`, in milliseconds. */
const SECOND_KEY_MAX = 1_500;
let wentAt = 0;

/** Returns the links to the places of the bar. */
const places = () => [...document.querySelectorAll(".places a[data-key]")];

function onKey(event) {
  const field = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "k" && (event.ctrlKey || event.metaKey) && !event.altKey) {
    event.preventDefault();
    openPalette();
    return;
  }
  if (field && event.key === "Escape" && field.closest(".find")) {
    field.blur();
    document.querySelector("main").focus();
    return;
  }
  if (field || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) {
    return;
  }
  if (event.timeStamp - wentAt < SECOND_KEY_MAX) {
    wentAt = 0;
    const place = places().find((link) => link.dataset.key === event.key);
    if (place) {
      event.preventDefault();
      place.click();
      return;
    }
  }
  const row = document.activeElement?.closest("[data-row]");
  const actions = {
    j: () => moveBy(1),
    k: () => moveBy(-1),
    x: () => row?.querySelector("input[type=checkbox]")?.click(),
    o: () => row?.querySelector("a")?.click(),
    "/": () => document.querySelector(".find input")?.select(),
    z: () => document.querySelector("[data-undo]")?.click(),
    g: () => {
      wentAt = event.timeStamp;
    },
    "?": () => document.querySelector("#keys")?.showModal(),
  };
  if (actions[event.key]) {
    event.preventDefault();
    actions[event.key]();
  }
}

/** The time for which the palette waits for another key before it asks, in milliseconds. */
const ASK_AFTER = 150;
const PALETTE_MEMORIES = 5;
let asked = 0;

let savedSearches = [];

/** Returns an entry of the palette: a link with its words. */
function entry(text, path) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = path;
  link.textContent = text;
  item.append(link);
  return item;
}

/** Returns an entry of the palette that does what a control of the view does. */
function action(control) {
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = wordsOf(control);
  button.addEventListener("click", () => {
    document.querySelector("#palette").close();
    use(control);
  });
  item.append(button);
  return item;
}

const wordsOf = (control) => control.textContent.trim();

/** Uses a control; one that opens a form leads into it. */
function use(control) {
  control.click();
  if (control.matches("summary")) {
    control.parentElement.querySelector("textarea, input:not([type=hidden])")?.focus();
  }
}

/** Returns what can be done in the view and its menu. */
function actions() {
  const all = document.querySelectorAll("main [aria-keyshortcuts], .outcome [data-undo], .menu a, .menu [data-keys], .leave button");
  return [...all].filter((control) => control.closest(".menu") || control.checkVisibility());
}

/** Asks for the searches that a person saved, which only the view of the search has. */
async function readSavedSearches() {
  const reply = await fetch("/search", { headers: { accept: "text/html" } });
  const view = new DOMParser().parseFromString(reply.ok ? await reply.text() : "", "text/html");
  savedSearches = [...view.querySelectorAll("[aria-labelledby=saved] .chips a")];
}

/** Opens the palette, which leads to places and memories by their names. */
function openPalette() {
  const palette = document.querySelector("#palette");
  if (!palette || palette.open) {
    return;
  }
  palette.showModal();
  const input = palette.querySelector("input");
  input.value = "";
  fillPalette("");
  readSavedSearches().then(() => fillPalette(input.value), () => {});
}

/** Shows the places with a text in their names, and the memories that answer it. */
function fillPalette(text) {
  const list = document.querySelector("#palette-list");
  const isMeant = (element) => element.textContent.toLowerCase().includes(text.trim().toLowerCase());
  const found = places().filter(isMeant);
  list.replaceChildren(
    ...found.map((link) => entry(link.firstChild.textContent.trim(), link.getAttribute("href"))),
    ...savedSearches.filter(isMeant).map((link) => entry(wordsOf(link), link.getAttribute("href"))),
    ...actions().filter(isMeant).map(action),
  );
  clearTimeout(asked);
  if (text.trim().length < 2) {
    return;
  }
  const query = encodeURIComponent(text);
  list.append(entry(`${document.querySelector(".find input").placeholder}: ${text}`, `/search?q=${query}`));
  asked = setTimeout(async () => {
    const reply = await fetch(`/search?q=${query}`, { headers: { accept: "application/json" } });
    const results = reply.ok ? ((await reply.json()).hits ?? []) : [];
    if (document.querySelector("#palette input").value === text) {
      const memories = results.slice(0, PALETTE_MEMORIES).map((hit) => hit.memory ?? hit.card ?? hit);
      list.append(...memories.map((memory) => entry(memory.title, `/memory/${encodeURIComponent(memory.id)}`)));
    }
  }, ASK_AFTER);
}

/** Moves through the entries of the palette, and opens one. */
function onPaletteKey(event) {
  const palette = event.target.closest("#palette");
  if (!palette) {
    return;
  }
  const links = [...palette.querySelectorAll("li > *")];
  const at = links.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    (links[at + step] ?? palette.querySelector("input")).focus();
  } else if (event.key === "Enter" && at < 0) {
    event.preventDefault();
    links[0]?.click();
  }
}

function onChange(event) {
  if (event.target.matches("[data-all]")) {
    for (const box of event.target.form.querySelectorAll("input[name=id]")) {
      box.checked = event.target.checked;
    }
  }
}

/** Copies a text, and says so. */
async function copy(text) {
  await navigator.clipboard.writeText(text);
  const said = document.querySelector("#said");
  said && say(said.dataset.copied);
}

function onClick(event) {
  const closed = event.target.closest("[data-close-toast]");
  if (closed) {
    closed.closest(".outcome").hidden = true;
  }
  if (event.target.closest("[data-keys]")) {
    document.querySelector("#keys").showModal();
  }
  const button = event.target.closest("[data-copy]");
  if (button) {
    copy(button.previousElementSibling.textContent);
  }
  // A menu closes as soon as something else is clicked.
  for (const menu of document.querySelectorAll(".menu[open], .more[open]")) {
    if (!menu.contains(event.target)) {
      menu.open = false;
    }
  }
}

// What other scripts use.
window.loci = { copy, use };
document.addEventListener("click", onClick);
document.addEventListener("keydown", onKey);
document.addEventListener("keydown", onPaletteKey);
document.addEventListener("input", (event) => {
  if (event.target.matches("#palette input")) {
    fillPalette(event.target.value);
  }
});
document.addEventListener("change", onChange);
// A view that the browser kept may be of a session that has ended.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) {
    window.location.reload();
  }
});
// So may one that follows changes: it leads to the sign-in then.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, xhr } = event.detail;
  if (target.id === "live" && new URL(xhr.responseURL).pathname === "/sign-in") {
    event.detail.shouldSwap = false;
    window.location.assign(xhr.responseURL);
  }
});
document.addEventListener("htmx:load", (event) => {
  showLocalTimes(event.detail.elt);
  showButtons(event.detail.elt);
  showResult();
  openNamed();
  listen();
  if (isBehind) {
    follow();
  }
});
