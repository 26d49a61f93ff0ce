// The most important numbers, and the selected design.

import { data, h } from "./dom.js";
import { count, counted, digitsOf, duration, given, number, optionValue, percent, withUnit } from "./format.js";
import { progress } from "./list.js";

const tile = (title, value, ...rest) => h("div", { class: "tile" }, h("dt", { text: title }), h("dd", {}, h("span", { class: "value" }, value), ...rest));

const under = (text) => h("span", { class: "under", text });

const spent = (facts, unit) => {
  const { spent: paid, budget } = facts.overview;
  if (budget === null) return tile("Spent", withUnit(paid, unit), under("no limit"));
  const held = facts.reserved > 0 ? `, ${withUnit(facts.reserved, unit)} reserved for running evaluations` : "";
  return tile("Spent", [number(paid), h("small", { text: ` of ${given(budget, unit)}` })], progress(paid, budget, facts.reserved), under(`${percent(budget ? paid / budget : 1)}${held}`));
};

const front = (view) => {
  if (!view) return tile("Confirmed", "–", under("not known yet"));
  const { confirmed, promising } = view;
  const more = promising === null ? (confirmed ? "promising ones are being computed" : "no design yet") : promising ? `${count(promising)} more promising, not measured yet` : confirmed ? "no other design measured in part is expected to improve it" : "no design yet";
  return tile("Confirmed", confirmed ? counted(confirmed, "design") : "–", under(more));
};

const missed = (view) => {
  if (typeof view?.missed_at_most !== "number") {
    const why = view?.unread ? `${counted(view.unread, "more reading")} needed to check the models` : "no bound yet";
    return tile("Missed at most", "–", under(why));
  }
  const both = view.missed_with_promising < view.missed_at_most ? `, ${percent(view.missed_with_promising)} with the promising designs` : "";
  return tile("Missed at most", percent(view.missed_at_most), under(`of the best hypervolume${both}, if the models are right`));
};

const confirming = (view, unit) => {
  if (!view?.promising) return tile("Confirming costs", "–", under(view?.confirmed && view.promising === 0 ? "no design measured in part is worth it" : "not known yet"));
  const cost = view.confirm_all_cost === null ? "unknown" : withUnit(view.confirm_all_cost, unit, 3);
  return tile("Confirming costs", cost, under(`about, for ${counted(view.promising, "promising design")}`));
};

const volume = (view) => {
  const found = view?.rows.hypervolume.findLast((value) => typeof value === "number") ?? (view?.known_hypervolume || undefined);
  const regions = (view?.rows.region_volume ?? []).filter((value) => typeof value === "number");
  const left = regions.length && regions[0] > 0 ? `Pareto region at ${percent(regions.at(-1) / regions[0])} of its initial volume` : "of the measured designs";
  return tile("Hypervolume", found === undefined ? "–" : number(found), under(left));
};

const running = (facts, now) => {
  const alive = facts.queue.filter((row) => row.worker.state === "alive");
  if (!alive.length) {
    const left = facts.queue.length ? `${counted(facts.queue.length, "evaluation")} left by a worker that is gone or silent` : "";
    return tile("Running now", "none", under(left || (facts.last_event ? `last event ${duration(now - facts.last_event)} ago` : "")));
  }
  const [first] = alive;
  const others = alive.length > 1 ? ` and ${count(alive.length - 1)} more` : "";
  const since = first.since ? `for ${duration(now - Date.parse(first.since) / 1000)}` : "";
  return tile("Running now", [data(first.objective), h("small", { text: others })], under(`${since}${first.worker.host ? ` on ${first.worker.host}` : ""}`));
};

/** Why the front cannot be drawn yet, or nothing. */
export const noFront = (view) => {
  const names = view.axes.filter((axis) => axis.optimise).map((axis) => axis.name);
  const isDrawn = (point) => names.every((name) => typeof point.values[name] === "number");
  return view.points.some(isDrawn) ? "" : "No design is measured in every objective yet.";
};

/** The headline figures. */
export const headline = (facts, views, now, unit) =>
  h("dl", { class: "tiles" }, spent(facts, unit), front(views.front), missed(views.front), confirming(views.front, unit), volume(views.trace), running(facts, now));

/** A design that was chosen in the picture: what is known of it, and what it costs to know more. */
export const chosenDesign = (point, { axes, points }, unit, commands, close) => {
  const values = axes.map((axis) => {
    const digits = digitsOf(points.filter((one) => one.measured[axis.name]).map((one) => one.values[axis.name]));
    const value = point.values[axis.name];
    const deviation = point.deviations[axis.name];
    const spread = deviation > 0 ? ` ± ${number(deviation, 2)}` : "";
    const estimate = point.estimates?.[axis.name] ?? value;
    const model = estimate === value ? "" : `, model ${number(estimate, digits)}`;
    const readings = point.readings?.[axis.name] > 1 ? ` mean of ${count(point.readings[axis.name])} readings` : " measured";
    return h("div", {}, h("dt", {}, data(axis.label)), h("dd", {}, h("span", { class: "figure", text: `${number(value, digits)}${spread}` }),
      h("span", { class: "soft", text: value === null ? " unknown" : point.measured[axis.name] ? `${readings}${model}` : " predicted" })));
  });
  const options = Object.entries(point.design).map(([name, value]) => h("div", {}, h("dt", {}, data(name)), h("dd", {}, data(optionValue(value)))));
  const cost = axes.every((axis) => point.measured[axis.name] === true) ? "It is measured in every objective."
    : point.confirm_cost === null ? "The cost to confirm it is not known."
    : point.confirm_cost > 0 ? `Confirming it costs about ${withUnit(point.confirm_cost, unit)}.` : "Confirming it is expected to cost nothing.";
  const marks = [
    ...(point.best ?? []).map((name) => `Best ${name} of the confirmed designs.`),
    ...(point.knee ? ["The knee of the front: the best compromise."] : []),
    ...(typeof point.relative_gain === "number" ? [`Expected to add ${percent(point.relative_gain)} to the hypervolume of the confirmed front.`] : []),
    ...(point.chance < 1 ? [`It can be measured with probability ${percent(point.chance)}.`] : []),
  ];
  return h("section", { class: "chosen", "aria-label": "Selected design" },
    h("div", { class: "chosen-top" }, h("h3", { text: `Selected design${point.number ? ` (number ${count(point.number)})` : ""}` }), h("button", { type: "button", onclick: close }, "Close")),
    h("dl", { class: "pairs" }, values), h("dl", { class: "pairs" }, options),
    h("p", { class: "soft", text: cost }),
    marks.length ? h("p", { class: "soft", text: marks.join(" ") }) : null,
    point.standing ? h("p", { class: "soft", text: `On the front of the candidates: ${point.standing}.` }) : null,
    point.probability < 1 ? h("p", { class: "soft", text: `It satisfies every constraint with probability ${percent(point.probability)}.` }) : null,
    commands);
};
