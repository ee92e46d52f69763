// Adds to the start of a session: a memory is dragged to another place under its heading, as the buttons move it.

let dragged;

/** Returns the row below a pointer under the heading of the one that is dragged, and the side on which it is. */
function target(event) {
  const row = event.target.closest?.(".starts li[draggable]");
  if (!dragged || !row || row === dragged || row.dataset.heading !== dragged.dataset.heading) {
    return undefined;
  }
  const box = row.getBoundingClientRect();
  return { row, side: event.clientY < box.top + box.height / 2 ? "before" : "after" };
}

function unmark() {
  for (const row of document.querySelectorAll(".starts [data-drop]")) {
    delete row.dataset.drop;
  }
}

function onDragStart(event) {
  dragged = event.target.closest?.(".starts li[draggable]");
  if (dragged) {
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.dataset.id);
  }
}

function onDragOver(event) {
  unmark();
  const at = target(event);
  if (at) {
    event.preventDefault();
    at.row.dataset.drop = at.side;
  }
}

function onDrop(event) {
  unmark();
  const at = target(event);
  if (!at) {
    return;
  }
  event.preventDefault();
  const form = dragged.querySelector("form");
  const other = form.querySelector("[name=other]");
  other.disabled = false;
  other.value = at.row.dataset.id;
  // A click, because htmx takes the path of the button that was clicked last.
  form.querySelector(`button[value=${at.side}]`).click();
}

document.addEventListener("dragstart", onDragStart);
document.addEventListener("dragover", onDragOver);
document.addEventListener("drop", onDrop);
document.addEventListener("dragend", () => {
  unmark();
  dragged = undefined;
});
