// Adds to the view of facts a slider that looks at them at another day, without a request.

const MILLISECONDS_PER_DAY = 86_400_000;

/** Returns the day of a date as a number of days since 1970; NaN for another text. */
const dayOf = (date) => Math.floor(Date.parse(`${date}T00:00:00Z`) / MILLISECONDS_PER_DAY);

/** Returns a number of days since 1970 as a date; undefined for years that a field cannot have. */
function dateOf(day) {
  const date = new Date(day * MILLISECONDS_PER_DAY);
  const isField = date.valueOf() >= Date.UTC(1, 0, 1) && date.getUTCFullYear() <= 9999;
  return isField ? date.toISOString().slice(0, 10) : undefined;
}

/** Returns true if a fact with these days holds at a day; an empty text is an open end. */
const holds = ({ first, last }, day) =>
  (first === "" || Number(first) <= day) && (last === "" || day <= Number(last));

/** Moves the line to a day, and marks the facts that hold then. */
function lookAt(day) {
  const slider = document.querySelector("[data-day]");
  const lanes = document.querySelector("[data-lanes]");
  const [first, last] = [Number(slider.min), Number(slider.max)];
  const [left, right] = [Number(lanes.dataset.left), Number(lanes.dataset.right)];
  const share = Math.min(Math.max((day - first) / (last - first + 1), 0), 1);
  const line = lanes.querySelector("[data-line]");
  for (const end of ["x1", "x2"]) {
    line.setAttribute(end, left + share * (right - left));
  }
  let count = 0;
  for (const fact of document.querySelectorAll("[data-first]")) {
    const isHolding = holds(fact.dataset, day);
    fact.classList.toggle("holds", isHolding);
    const [yes, no] = [fact.querySelector("[data-yes]"), fact.querySelector("[data-no]")];
    if (yes && no) {
      yes.hidden = !isHolding;
      no.hidden = isHolding;
      count += isHolding ? 1 : 0;
    }
  }
  const date = dateOf(day);
  slider.setAttribute("aria-valuetext", date ?? String(day));
  for (const shown of document.querySelectorAll("[data-holding-at]")) {
    shown.textContent = date ?? "";
  }
  document.querySelector("[data-holding]").textContent = count;
}

function onInput(event) {
  const slider = document.querySelector("[data-day]");
  const field = document.querySelector("[data-as-of]");
  if (!slider || !field) {
    return;
  }
  if (event.target === slider) {
    const date = dateOf(Number(slider.value));
    if (date) {
      field.value = date;
    }
    lookAt(Number(slider.value));
  } else if (event.target === field && Number.isFinite(dayOf(field.value))) {
    slider.value = dayOf(field.value);
    lookAt(dayOf(field.value));
  }
}

/** Shows the slider, which does nothing without this script. */
function prepare() {
  const part = document.querySelector("[data-slider]");
  if (part?.hidden) {
    part.hidden = false;
    lookAt(Number(part.querySelector("[data-day]").value));
  }
}

document.addEventListener("input", onInput);
document.addEventListener("htmx:load", prepare);
prepare();
