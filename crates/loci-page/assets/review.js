// Adds keys to the view of what people should decide: 1, 2 and 3 answer a pair, d dismisses, z takes back.

/** Returns the decision that keys are about: the open one around the focus, else the first open one. */
function current() {
  const around = document.activeElement?.closest("details.decision[open]");
  return around ?? document.querySelector("details.decision[open]");
}

let decided = false;

function onKey(event) {
  const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.defaultPrevented || isTyping || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const button =
    event.key === "z"
      ? document.querySelector("form[action='/undo'] button")
      : current()?.querySelector(`button[data-key="${CSS.escape(event.key)}"]`) ??
        (event.key === "d" ? current()?.querySelector("button[formaction='/review/dismiss']") : undefined);
  if (button) {
    event.preventDefault();
    decided = true;
    button.click();
  }
}

/** Shows one decision at a time, and goes on to the next one after a key decided. */
function goOn() {
  const open = document.querySelector("details.decision[open]");
  if (decided && open) {
    decided = false;
    open.querySelector("summary").focus();
  }
}

document.addEventListener("keydown", onKey);
document.addEventListener("htmx:load", goOn);
