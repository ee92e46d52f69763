// Adds to Search and Browse: results while one types, filters that apply at once, a preview, and what is done with a selection.

const { copy, use } = window.loci;

const DEBOUNCE = 150;
const FRAGMENT = { headers: { Accept: "text/html" } };

let typing;
let asking;
let lastPicked;

const one = (selector) => document.querySelector(selector);
const boxes = () => [...document.querySelectorAll(".rows input[name=id], .hits input[name=id]")];

/** Returns the fields of the search as parameters, without empty ones. */
function parametersOf(form) {
  const parameters = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (value || name === "wing" || name === "who") {
      parameters.append(name, value);
    }
  }
  return parameters;
}

/** Returns the part of a page at a path; nothing if another one is asked for meanwhile. */
async function fragment(path) {
  asking?.abort();
  asking = new AbortController();
  try {
    const reply = await fetch(path, { ...FRAGMENT, signal: asking.signal });
    return reply.ok ? await reply.text() : "";
  } catch {
    return undefined;
  }
}

function put(element, html) {
  element.innerHTML = html;
  element.dispatchEvent(new CustomEvent("htmx:load", { bubbles: true, detail: { elt: element } }));
}

/** Shows the results of what is typed: in the view of the search, or below the field of any other one. */
async function answer(field) {
  const results = one("#results");
  const form = field.form;
  if (results) {
    const parameters = parametersOf(one("#search-form") ?? form);
    const html = await fragment(`/search/results?${parameters}`);
    if (html) {
      put(results, html);
      window.history.replaceState(window.history.state, "", `/search?${parameters}`);
    }
    return;
  }
  const html = field.value.trim() ? await fragment(`/search/results?${parametersOf(form)}`) : "";
  if (html === undefined) {
    return;
  }
  let panel = one("#typed-results");
  if (!html) {
    panel?.remove();
    return;
  }
  if (!panel) {
    panel = document.createElement("section");
    panel.id = "typed-results";
    panel.setAttribute("aria-label", field.getAttribute("aria-label") ?? "");
    document.body.append(panel);
  }
  put(panel, html);
}

/** Closes what lies over the view; returns true if there was something. */
function close() {
  const panel = one("#typed-results");
  const preview = one("#preview:not([hidden])");
  if (panel) {
    asking?.abort();
    panel.remove();
    return true;
  }
  if (preview) {
    preview.hidden = true;
    preview.replaceChildren();
    row(preview.dataset.of)?.querySelector("a")?.focus();
    return true;
  }
  return false;
}

const row = (id) => (id ? document.querySelector(`[data-row][data-id="${CSS.escape(id)}"]`) : undefined);

/** Shows the memory of a row beside the list. */
async function preview(at) {
  const pane = one("#preview");
  if (!pane || !at?.dataset.id) {
    return;
  }
  const html = await fragment(`/browse/preview?id=${encodeURIComponent(at.dataset.id)}`);
  if (html) {
    pane.dataset.of = at.dataset.id;
    pane.hidden = false;
    put(pane, html);
  }
}

/** Says how many are selected. */
function count() {
  const picked = boxes().filter((box) => box.checked).length;
  for (const text of document.querySelectorAll("[data-selected]")) {
    text.textContent = picked === 1 ? text.dataset.one : text.dataset.many.replace("#", picked);
  }
}

/** Selects the rows from the last one that was selected to this one. */
function range(box) {
  const all = boxes();
  const [from, until] = [all.indexOf(lastPicked), all.indexOf(box)].sort((a, b) => a - b);
  if (from >= 0) {
    all.slice(from, until + 1).forEach((other) => { other.checked = true; });
    count();
  }
}

/** Uses the control of the view that has a key; for one of the bulk bar, the row is selected if none is. */
function press(key, at) {
  const box = at?.querySelector("input[name=id]");
  if (box && !boxes().some((other) => other.checked)) {
    box.checked = true;
    count();
  }
  const controls = document.querySelectorAll(`main [aria-keyshortcuts="${CSS.escape(key)}"]`);
  const control = [...controls].find((other) => other.checkVisibility());
  control && use(control);
  return control;
}

/** Copies the text of the memory of a row. */
async function copyTextOf(id) {
  const reply = await fetch(`/memory/${encodeURIComponent(id)}`, { headers: { Accept: "application/json" } });
  if (reply.ok) {
    await copy((await reply.json()).content);
  }
}

function onKey(event) {
  if (event.key === "Escape" && close()) {
    event.preventDefault();
    return;
  }
  const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select, summary, button");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) {
    return;
  }
  const at = document.activeElement?.closest("[data-row]");
  const actions = {
    " ": () => {
      const pane = at && one("#preview");
      const isShown = pane && !pane.hidden && pane.dataset.of === at.dataset.id;
      return pane && (isShown ? close() : preview(at) || true);
    },
    X: () => {
      const box = at?.querySelector("input[name=id]");
      box && range(box);
      return box;
    },
    m: () => press("m", at),
    t: () => press("t", at),
    "#": () => press("#", at),
    e: () => {
      const { id } = at?.dataset ?? {};
      id && window.location.assign(`/memory/${encodeURIComponent(id)}#edit`);
      return id || press("e");
    },
    c: () => {
      const { id } = at?.dataset ?? {};
      id && copyTextOf(id);
      return id || press("c");
    },
    z: () => {
      const undo = one("form[action='/undo'] button");
      undo?.click();
      return undo;
    },
  };
  if (actions[event.key]?.()) {
    event.preventDefault();
  }
}

function onInput(event) {
  if (event.target.matches("input[type=search][name=q]") && !event.target.closest("form[action='/explain'], form[action='/search/agent']")) {
    clearTimeout(typing);
    // At once, because the button of the view may be pressed before there is an answer.
    const own = one("#search-form input[name=q]");
    if (own && own !== event.target) {
      own.value = event.target.value;
    }
    typing = setTimeout(() => answer(event.target), DEBOUNCE);
  }
}

/** Leaves the answers to what was typed, which would come into the view that is on its way. */
function onSubmit() {
  clearTimeout(typing);
  asking?.abort();
}

function onChange(event) {
  const { target } = event;
  if (target.matches("[data-filter]")) {
    target.form.requestSubmit();
  } else if (target.matches("input[name=id]")) {
    lastPicked = target;
    count();
  } else if (target.matches("[data-all]")) {
    count();
  }
}

function onClick(event) {
  if (event.target.closest("[data-close-preview]")) {
    close();
  } else if (!event.target.closest("#typed-results, input[type=search]")) {
    one("#typed-results")?.remove();
  }
}

/** Asks for the days over which a pointer was dragged. */
function onPointerDown(event) {
  const first = event.target.closest("[data-times] a");
  if (!first) {
    return;
  }
  event.preventDefault();
  const bars = [...first.parentElement.querySelectorAll("a")];
  let last = first;
  const mark = (moved) => {
    last = document.elementFromPoint(moved.clientX, moved.clientY)?.closest("[data-times] a") ?? last;
    const [from, until] = [bars.indexOf(first), bars.indexOf(last)].sort((a, b) => a - b);
    bars.forEach((bar, place) => bar.classList.toggle("within", place >= from && place <= until));
    return [bars[from], bars[until]];
  };
  const end = (ended) => {
    document.removeEventListener("pointermove", mark);
    const [from, until] = mark(ended);
    const form = one("#search-form");
    document.querySelector("[name=from][data-filter]").value = from.dataset.from;
    document.querySelector("[name=until][data-filter]").value = until.dataset.until;
    form.requestSubmit();
  };
  document.addEventListener("pointermove", mark);
  document.addEventListener("pointerup", end, { once: true });
}

/** Moves the rows that are dragged to the place on which they are dropped. */
function onDrop(event) {
  const place = event.target.closest("[data-wing]");
  const form = one("#selection");
  if (!place || !form) {
    return;
  }
  event.preventDefault();
  const wing = place.dataset.wing;
  form.querySelector("[name=wing]").value = wing;
  form.querySelector("[name=global]").checked = !wing;
  form.requestSubmit(form.querySelector("[formaction='/selected/move']"));
}

document.addEventListener("keydown", onKey);
document.addEventListener("input", onInput);
document.addEventListener("change", onChange);
document.addEventListener("submit", onSubmit);
document.addEventListener("click", onClick);
document.addEventListener("pointerdown", onPointerDown);
document.addEventListener("focusin", (event) => {
  const at = event.target.closest("[data-row]");
  const pane = one("#preview:not([hidden])");
  if (at && pane && pane.dataset.of !== at.dataset.id) {
    preview(at);
  }
});
document.addEventListener("dragstart", (event) => {
  const box = event.target.closest?.("[data-row]")?.querySelector("input[name=id]");
  if (box && one("#selection .bulk")) {
    box.checked = true;
    count();
  }
});
document.addEventListener("dragover", (event) => {
  const place = event.target.closest?.("[data-wing]");
  document.querySelectorAll(".dropping").forEach((other) => other.classList.remove("dropping"));
  if (place && one("#selection")) {
    place.classList.add("dropping");
    event.preventDefault();
  }
});
document.addEventListener("drop", onDrop);
