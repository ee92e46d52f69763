// The palace: where memories are filed, as rectangles whose areas are in the proportion of their numbers.

/** The rectangles of a picture; the rest is one of them. */
const AREAS = 24;

/** The greatest relation of two sides in a row of this length. */
function worst(row, side) {
  const sum = row.reduce((one, other) => one + other, 0);
  return Math.max(...row.map((size) => Math.max((side * side * size) / (sum * sum), (sum * sum) / (side * side * size))));
}

/** A rectangle for each number, the largest first, as near to squares as can be. Together they fill the whole. */
function areasOf(numbers, width, height) {
  const sum = numbers.reduce((one, other) => one + other, 0);
  const sizes = numbers.map((number) => (number * width * height) / sum);
  const areas = [];
  const left = { x: 0, y: 0, width, height };
  for (let at = 0; at < sizes.length; ) {
    const side = Math.min(left.width, left.height);
    let count = 1;
    while (at + count < sizes.length && worst(sizes.slice(at, at + count + 1), side) <= worst(sizes.slice(at, at + count), side)) {
      count += 1;
    }
    const row = sizes.slice(at, at + count);
    const depth = row.reduce((one, other) => one + other, 0) / side;
    const isColumn = left.width >= left.height;
    let along = 0;
    row.forEach((size) => {
      const length = size / depth;
      areas.push(
        isColumn
          ? { x: left.x, y: left.y + along, width: depth, height: length }
          : { x: left.x + along, y: left.y, width: length, height: depth },
      );
      along += length;
    });
    if (isColumn) {
      left.x += depth;
      left.width -= depth;
    } else {
      left.y += depth;
      left.height -= depth;
    }
    at += count;
  }
  return areas;
}

/** The places with the most memories, and the rest as one. */
function largest(counted) {
  const sorted = [...counted].sort(([, one], [, other]) => other - one);
  const rest = sorted.slice(AREAS - 1);
  if (rest.length < 2) {
    return sorted;
  }
  return [...sorted.slice(0, AREAS - 1), [null, rest.reduce((sum, [, number]) => sum + number, 0)]];
}

/** A picture of numbers, each with what a press does, and the same as a list of names. */
function pictureOf(counted, press) {
  const [width, height] = [100, 62];
  const shown = largest(counted);
  const areas = areasOf(shown.map(([, number]) => number), width, height);
  const boxes = shown.map(([name, number], at) => {
    const box = button(`${name ?? say("v-others")} · ${number}`, () => (name === null ? undefined : press(name)), "area");
    box.disabled = name === null || !press;
    const { x, y, width: wide, height: high } = areas[at];
    box.style.left = `${x}%`;
    box.style.top = `${(100 * y) / height}%`;
    box.style.width = `${wide}%`;
    box.style.height = `${(100 * high) / height}%`;
    box.title = box.textContent;
    return box;
  });
  return make("div", "areas", ...boxes);
}

start(async () => {
  const { places, more } = await host.call("palace", {});
  const sum = (of) => of.reduce((all, { memories }) => all + memories, 0);
  const nameOf = ({ project }) => project ?? say("global");
  const count = (of, name) => {
    const counts = new Map();
    of.forEach((place) => counts.set(name(place), (counts.get(name(place)) ?? 0) + place.memories));
    return [...counts];
  };
  const ask = async (project, topic) => {
    const text = say("v-more-message", `${project} / ${topic}`);
    await host.request("ui/message", { role: "user", content: [{ type: "text", text }] });
  };

  const draw = (project) => {
    const within = project === undefined ? places : places.filter((place) => nameOf(place) === project);
    const counted = count(within, project === undefined ? nameOf : ({ topic }) => topic);
    const press = project === undefined ? draw : host.capabilities.message ? (topic) => ask(project, topic) : null;
    const back = button(say("v-all-places"), () => {
      draw();
      view.querySelector("h1").focus();
    });
    const title = make("h1", "", project === undefined ? say("v-palace") : project);
    title.tabIndex = -1;
    const rest = project === undefined && more > 0 ? make("p", "count", say("v-found-left", more)) : "";
    view.replaceChildren(
      title,
      make("p", "count", say("v-found-count", sum(within) + (project === undefined ? more : 0))),
      project === undefined ? "" : make("div", "actions", back),
      counted.length === 0 ? make("p", "", say("v-found-none")) : pictureOf(counted, press),
      rest,
    );
    if (project !== undefined) {
      title.focus();
    }
  };
  draw();
});
