// The list of studies.

import { data, fill, h } from "./dom.js";
import { count, counted, given, number, percent, withUnit } from "./format.js";

const WORDS = {
  running: "running", waiting: "waiting", finished: "finished", stopped: "stopped", silent: "silent", reading: "reading", unreadable: "unreadable",
};
const MEANINGS = {
  running: "It is being measured now.",
  waiting: "A worker is connected but measures nothing at the moment.",
  finished: "There is nothing more to ask.",
  stopped: "Somebody or a failure stopped it; it can be resumed.",
  silent: "No worker is active at the moment.",
  reading: "It is being read for the first time.",
  unreadable: "It cannot be read.",
};

/** The state of a study, as a word with a mark. */
export const badge = (state) =>
  h("span", { class: "badge", "data-state": state, title: MEANINGS[state] ?? null }, h("span", { class: "dot", "aria-hidden": "true" }), WORDS[state] ?? state);

/** How much of the budget is spent, as a bar. */
export const progress = (spent, budget, reserved = 0) => {
  if (!(budget > 0)) return null;
  const share = Math.min(1, spent / budget);
  const made = h("span", { class: "bar", role: "img", "aria-label": `${percent(share)} of the budget is spent` }, h("span", { class: "spent" }), h("span", { class: "held" }));
  made.children[0].style.width = `${100 * share}%`;
  made.children[1].style.width = `${100 * Math.min(1 - share, reserved / budget)}%`;
  return made;
};

const line = (study) => {
  if (study.state === "reading") return `${count(study.read)} of ${counted(study.events, "event")} read`;
  if (study.problem && study.spent === undefined) return "cannot be read";
  const unit = study.cost_unit;
  const spent = study.budget === null ? `${withUnit(study.spent, unit)} spent` : `${number(study.spent)} of ${given(study.budget, unit)} spent`;
  return study.failed ? `${spent}, ${counted(study.failed, "failed attempt")}` : spent;
};

const entry = (study, isChosen) =>
  h("li", {}, h("a", { href: `#study=${study.id}`, "aria-current": isChosen ? "page" : null },
    h("span", { class: "name" }, data(study.name)),
    badge(study.state),
    progress(study.spent ?? 0, study.budget),
    h("span", { class: "line", text: line(study) })));

/** The name of a study, with its storage where another one has the same name. */
export const label = (study, studies) =>
  studies.some((other) => other.id !== study.id && other.name === study.name) ? `${study.name}, ${study.storage}` : study.name;

/** Shows the studies, those of each storage together where there are several. */
export const showStudies = (host, studies, chosen) => {
  const storages = [...new Set(studies.map((study) => study.storage))];
  const children = storages.flatMap((storage) => [
    storages.length > 1 ? h("li", { class: "storage" }, data(storage)) : null,
    ...studies.filter((study) => study.storage === storage).map((study) => entry(study, study.id === chosen)),
  ]);
  fill(host, children);
};

/** The study to show when nobody has chosen one: what runs, or else what was written to last. */
export const mostInteresting = (studies) => {
  const rank = (study) => [["running", "waiting"].indexOf(study.state) >= 0 ? 1 : 0, study.last_event ?? 0];
  return [...studies].sort((a, b) => rank(b)[0] - rank(a)[0] || rank(b)[1] - rank(a)[1])[0] ?? null;
};
