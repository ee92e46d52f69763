// Adds to pages that work without it: local times, live updates, selection and keys.

/** Shows the times of a part of the page in the zone of the reader. */
function showLocalTimes(part) {
  const format = new Intl.DateTimeFormat(document.documentElement.lang, {
    dateStyle: "medium",
    timeStyle: "short",
  });
  for (const time of part.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.valueOf())) {
      time.title = time.textContent;
      time.textContent = format.format(moment);
    }
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
    events.addEventListener("change", () => window.htmx.trigger(document.body, "memories"));
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

function onKey(event) {
  const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const row = document.activeElement?.closest("[data-row]");
  const actions = {
    j: () => moveBy(1),
    k: () => moveBy(-1),
    x: () => row?.querySelector("input[type=checkbox]")?.click(),
    o: () => row?.querySelector("a")?.click(),
    "/": () => {
      const field = document.querySelector("input[type=search]");
      if (field) {
        field.focus();
      } else {
        window.location.assign("/search");
      }
    },
  };
  if (actions[event.key]) {
    event.preventDefault();
    actions[event.key]();
  }
}

function onChange(event) {
  if (event.target.matches("[data-all]")) {
    for (const box of event.target.form.querySelectorAll("input[name=id]")) {
      box.checked = event.target.checked;
    }
  }
}

document.addEventListener("keydown", onKey);
document.addEventListener("change", onChange);
document.addEventListener("htmx:load", (event) => {
  showLocalTimes(event.detail.elt);
  listen();
});
