// Facts over time: of an entity, lanes along the time for which its facts hold, and what it leads to.

const SVG = "http://www.w3.org/2000/svg";
/** The neighbours that are drawn, and their distance. */
const DRAWN = 16;
const ROW = 30;

/** An element of a picture, with attributes. */
function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  if (text !== undefined) {
    made.textContent = text;
  }
  return made;
}

/** A day in the language of the person. */
function day(text) {
  const moment = new Date(text);
  const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeZone: "UTC" });
  return Number.isNaN(moment.valueOf()) ? "" : format.format(moment);
}

/** The time for which a fact holds, in words. */
function spanOf(fact) {
  const from = fact.valid_from ? day(fact.valid_from) : say("v-always");
  return `${from} – ${fact.valid_to ? day(fact.valid_to) : say("v-open-end")}`;
}

/** The facts of one relation, each with a bar at the time for which it holds. */
function laneOf(name, facts, [first, last]) {
  const share = (text, otherwise) => (text ? (100 * (new Date(text) - first)) / (last - first) : otherwise);
  const rows = facts.map((fact) => {
    const bar = make("div", `bar${fact.holds ? " holds" : ""}`);
    const from = Math.min(99, Math.max(0, share(fact.valid_from, 0)));
    const to = Math.min(100, Math.max(from + 1, share(fact.valid_to, 100)));
    bar.style.marginLeft = `${from}%`;
    bar.style.width = `${to - from}%`;
    const track = make("div", "track", bar);
    track.setAttribute("aria-hidden", "true");
    const by = fact.author ? say("by-app", fact.author) : null;
    return make(
      "li",
      "",
      make("p", "line", make("strong", "", fact.other), make("span", "place", spanOf(fact)), by ? make("span", "place", by) : null),
      track,
    );
  });
  return make("section", "lane", make("h2", "", name), make("ol", "", ...rows));
}

/** The entity in the middle, and what its facts lead to on both sides. */
function pictureOf(entity, facts) {
  const names = [...new Set(facts.map((fact) => fact.other))].filter((name) => name !== entity).slice(0, DRAWN);
  const height = Math.max(2, Math.ceil(names.length / 2)) * ROW + ROW;
  const svg = drawn("svg", { viewBox: `0 0 640 ${height}`, role: "img", "aria-label": say("v-leads-to", names.join(", ")) });
  const short = (name) => (name.length > 22 ? `${name.slice(0, 21)}…` : name);
  names.forEach((name, at) => {
    const isLeft = at % 2 === 0;
    const y = ROW * (Math.floor(at / 2) + 1);
    const holds = facts.some((fact) => fact.other === name && fact.holds);
    const x = isLeft ? 200 : 440;
    svg.append(
      drawn("line", { x1: 320, y1: height / 2, x2: x, y2: y, class: holds ? "holds" : "over" }),
      drawn("circle", { cx: x, cy: y, r: 5, class: holds ? "holds" : "over" }),
      drawn("text", { x: isLeft ? x - 10 : x + 10, y: y + 5, "text-anchor": isLeft ? "end" : "start" }, short(name)),
    );
  });
  svg.append(drawn("circle", { cx: 320, cy: height / 2, r: 8, class: "holds" }));
  return [svg, names];
}

async function show(entity) {
  const read = await host.call("facts", entity ? { entity } : {});
  const { facts, entities, is_cut: isCut, now } = read;
  if (!read.entity) {
    view.replaceChildren(make("h1", "", say("v-facts")), make("p", "count", say("v-facts-none")));
    return;
  }
  const times = facts.flatMap((fact) => [fact.valid_from, fact.valid_to]).filter(Boolean);
  const moments = [...times, now].map((text) => new Date(text).valueOf()).filter((moment) => !Number.isNaN(moment));
  const last = Math.max(...moments);
  const range = [Math.min(...moments, last - 86_400_000), last];
  const lanes = new Map();
  facts.forEach((fact) => {
    const name = fact.incoming ? `← ${fact.predicate}` : `${fact.predicate} →`;
    lanes.set(name, [...(lanes.get(name) ?? []), fact]);
  });
  const ordered = [...lanes].sort(([, one], [, other]) => other.length - one.length);
  const choice = make("select", "");
  choice.setAttribute("aria-label", say("v-entity"));
  [...new Set([read.entity, ...entities])].forEach((name) => choice.append(make("option", "", name)));
  choice.value = read.entity;
  choice.addEventListener("change", () => shown(choice.value));
  const [picture, names] = pictureOf(read.entity, facts);
  const others = names.map((name) => button(name, () => shown(name)));
  view.replaceChildren(
    make("h1", "", say("v-facts")),
    choice,
    facts.length === 0 ? make("p", "count", say("v-facts-none")) : picture,
    others.length > 0 ? make("div", "actions", ...others) : "",
    ...ordered.map(([name, of]) => laneOf(name, of, range)),
    make("p", "count", `${day(range[0])} – ${day(range[1])}`),
    isCut ? make("p", "count", say("v-facts-cut")) : "",
  );
}

/** Shows an entity, and leads to the choice of another. */
async function shown(entity) {
  try {
    await show(entity);
    view.querySelector("select")?.focus();
  } catch (error) {
    view.append(make("p", "failed", error.message));
  }
}

start(async () => {
  const named = host.given.entity;
  await show(typeof named === "string" ? named : undefined);
});
