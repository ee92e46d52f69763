// Adds to the view of facts a slider that looks at them at another day, without a request.

const MILLISECONDS_PER_DAY = 86_400_000;

const DATE = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeZone: "UTC" });

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

/** Moves the lines to a day, marks the facts that hold then, and puts their sentences above the others. */
function lookAt(day) {
  const slider = document.querySelector("[data-day]");
  const [first, last] = [Number(slider.min), Number(slider.max)];
  const share = Math.min(Math.max((day - first) / (last - first + 1), 0), 1);
  for (const lanes of document.querySelectorAll("[data-lanes]")) {
    const [left, right] = [Number(lanes.dataset.left), Number(lanes.dataset.right)];
    for (const end of ["x1", "x2"]) {
      lanes.querySelector("[data-line]").setAttribute(end, left + share * (right - left));
    }
  }
  const holding = document.querySelector("[data-holding-list]");
  const others = document.querySelector("[data-other-list]");
  for (const fact of document.querySelectorAll("[data-first]")) {
    const isHolding = holds(fact.dataset, day);
    fact.classList.toggle("holds", isHolding);
    const list = isHolding ? holding : others;
    if (fact.matches("li") && fact.parentElement !== list) {
      list.append(fact);
    }
  }
  const date = dateOf(day);
  slider.setAttribute("aria-valuetext", date ?? String(day));
  for (const shown of document.querySelectorAll("[data-holding-at]")) {
    shown.textContent = date ? DATE.format(new Date(date)) : "";
  }
  const count = holding.childElementCount;
  document.querySelector("[data-holding]").textContent = count;
  const words = document.querySelector("[data-holding-words]");
  words.textContent = count === 1 ? words.dataset.one : words.dataset.many;
  document.querySelector("[data-others]").textContent = others.childElementCount;
}

/** Looks at a day with all that shows it. */
function goTo(day) {
  const [slider, field] = [document.querySelector("[data-day]"), document.querySelector("[data-as-of]")];
  slider.value = day;
  field.value = dateOf(day) ?? field.value;
  lookAt(day);
}

/** The steps and the milliseconds between two of them, when the time plays. */
const STEPS = 60;
const STEP_MILLISECONDS = 120;
let playing;

function stop() {
  clearInterval(playing);
  playing = undefined;
}

/** Lets the time go by from the day of the slider, or from the first one if it is at the end. */
function play() {
  const slider = document.querySelector("[data-day]");
  const [first, last] = [Number(slider.min), Number(slider.max)];
  const step = Math.max(Math.round((last - first) / STEPS), 1);
  let day = Number(slider.value) >= last ? first : Number(slider.value);
  playing = setInterval(() => {
    day = Math.min(day + step, last);
    if (!slider.isConnected) {
      stop();
      return;
    }
    goTo(day);
    if (day === last) {
      stop();
    }
  }, STEP_MILLISECONDS);
}

function onClick(event) {
  if (event.target.closest("[data-to-today]")) {
    stop();
    goTo(Number(document.querySelector("[data-day]").dataset.today));
  } else if (event.target.closest("[data-play]")) {
    if (playing) {
      stop();
    } else {
      play();
    }
  }
}

function onInput(event) {
  const slider = document.querySelector("[data-day]");
  const field = document.querySelector("[data-as-of]");
  if (!slider || !field) {
    return;
  }
  // Whoever chooses a day is not led away from it.
  if (event.target === slider || event.target === field) {
    stop();
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
document.addEventListener("click", onClick);
document.addEventListener("htmx:load", prepare);
prepare();
