// The tables of a study: queue, failures, choices, notes and settings.

import { brief, cell, data, h, table } from "./dom.js";
import { ago, count, designText, digitsOf, duration, given, moment, number, optionValue, percent, withUnit } from "./format.js";

const empty = (text) => h("p", { class: "empty", text });

const STATES = {
  alive: ["alive", "running"], silent: ["silent", "silent"], dead: ["dead: its process is gone", "failed"], gone: ["gone", "failed"],
};

const worker = ({ id, host, pid, state, silent_seconds: silent, lease }) => {
  const where = String(id).startsWith("hand-") ? ", manual" : pid === null ? null : `, process ${pid}`;
  const [words, mark] = STATES[state] ?? [state, "silent"];
  const last = typeof silent === "number" && state !== "gone" ? `, last sign of life ${ago(silent)}` : "";
  return [
    h("span", { class: "where" }, host === null ? "unknown" : data(host), where),
    h("span", { class: "badge", "data-state": mark, title: typeof lease === "number" ? `Considered gone after ${duration(lease)} without a sign.` : null },
      h("span", { class: "dot", "aria-hidden": "true" }), `${words}${last}`),
  ];
};

/** What is being measured: where, since when, and whether its worker still signs. */
export const queue = (rows, now, unit) => {
  if (!rows.length) return empty("Nothing is being measured at the moment.");
  const head = ["evaluation", "design", "where", "for", "expected cost", "lease"];
  return table("Evaluations in progress", head, rows.map((row) => h("tr", {},
    cell([h("span", { class: "figure", text: `${row.number} ` }), data(row.objective), row.to_step === undefined ? null : h("span", { class: "soft", text: ` step ${count(row.from_step)} to ${count(row.to_step)}` }), row.attempt > 1 ? h("span", { class: "soft", text: ` attempt ${row.attempt}` }) : null]),
    cell(brief(designText(row.design), 70)),
    cell(worker(row.worker)),
    cell(row.since ? duration(now - Date.parse(row.since) / 1000) : "–", true),
    cell(withUnit(row.expected_cost, unit), true),
    cell(typeof row.worker.lease === "number" ? duration(row.worker.lease) : "–", true))));
};

/** What users put next in line, and what of it is not being measured yet. */
export const queued = (rows, inAll, unit) => {
  if (!rows.length) return null;
  const made = table("Designs that are queued next", ["queued", "missing", "design", "why", "expected cost"], rows.map((row) => h("tr", {},
    cell(String(row.number), true),
    cell([data(row.objectives.join(", ")), row.readings > 1 ? h("span", { class: "soft", text: ` ${count(row.readings)} readings` }) : null]),
    cell(brief(designText(row.design), 70)),
    cell(data(row.why || "–")),
    cell(withUnit(row.expected_cost, unit), true))));
  return inAll > rows.length ? [made, h("p", { class: "soft", text: `The first ${count(rows.length)} of ${count(inAll)}.` })] : made;
};

/** What failed, and what it said. */
export const failures = (rows, inAll, unit) => {
  if (!rows.length) return empty("There are no failures.");
  const made = table("Failed evaluations, latest first", ["evaluation", "what happened", "design", "cost", "when"], rows.map((row) => h("tr", {},
    cell([h("span", { class: "figure", text: `${row.number} ` }), data(row.objective)]),
    cell(h("div", { class: "message" }, row.state === "impossible" ? h("strong", { text: "Impossible. " }) : null, data(row.reason || "No reason was given."))),
    cell(brief(designText(row.design), 60)),
    cell(withUnit(row.cost, unit), true),
    cell(moment(row.time)))));
  return inAll > rows.length ? [made, h("p", { class: "soft", text: `The last ${count(rows.length)} of ${count(inAll)}; the CSV file has them all.` })] : made;
};

const runnerUp = (second, unit) => {
  if (!second) return "–";
  return h("div", { class: "second" }, data(second.objective), h("span", { class: "soft" }, " of ", brief(designText(second.design), 40)),
    h("div", { class: "soft", text: `gain ${number(second.gain)}, cost ${withUnit(second.cost, unit)}` }));
};

const became = (row, unit, digits) => {
  if (row.state === "measured") return h("span", { class: "soft", text: `${number(row.value, digits)}${typeof row.paid === "number" ? ` for ${withUnit(row.paid, unit)}` : ""}` });
  if (row.state === "reached") return h("span", { class: "soft", text: `stopped before the last step${typeof row.paid === "number" ? `, for ${withUnit(row.paid, unit)}` : ""}` });
  return h("span", { class: "badge", "data-state": row.state === "pending" ? "running" : row.state === "released" ? "silent" : "failed", title: row.reason || null },
    h("span", { class: "dot", "aria-hidden": "true" }), row.state);
};

/** Why the last evaluations were asked. */
export const choices = (view, unit) => {
  const rows = view.choices;
  if (!rows.length) return empty("No evaluation has been asked yet.");
  const names = [...new Set(rows.map((row) => row.objective))];
  const digits = new Map(names.map((name) => [name, digitsOf(rows.filter((row) => row.objective === name).map((row) => row.value))]));
  const head = ["evaluation", "why", "design", "gain", "cost", "runner-up"];
  return table("The last evaluations and why they were asked, newest first", head, rows.map((row) => h("tr", {},
    cell([h("span", { class: "figure", text: `${row.number} ` }), data(row.objective), h("div", { class: "became" }, became(row, unit, digits.get(row.objective)))]),
    cell(h("div", { class: "why" }, data(row.why || "–"))),
    cell(h("div", { class: "design" }, brief(designText(row.design), 60))),
    cell([number(row.gain), row.gain_share === null ? null : h("div", { class: "soft", text: `${percent(row.gain_share)} of the region` })], true),
    cell(withUnit(row.cost, unit), true),
    cell(runnerUp(row.runner_up, unit)))));
};

/** What people wrote down. */
export const notes = (rows, inAll) => {
  if (!rows.length) return empty("There are no notes.");
  const more = inAll > rows.length ? h("p", { class: "soft", text: `The last ${count(rows.length)} of ${count(inAll)}.` }) : null;
  return [h("ul", { class: "notes" }, rows.map((note) => h("li", {}, h("time", { class: "soft", text: moment(note.time) }), h("p", {}, data(note.text))))), more];
};

const pair = (name, value) => [h("dt", { text: name }), h("dd", {}, value)];

const listed = (record) => Object.entries(record ?? {}).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : optionValue(value)}`).join(", ");

/** The direction and the bounds of an objective: "to minimise, at most 600 B". */
const meaning = ({ direction, optimise, at_most: most, at_least: least, range, unit, measured_with: leader }) => [
  optimise ? `to ${direction}imise` : null,
  most === null ? null : `at most ${given(most, unit)}`,
  least === null ? null : `at least ${given(least, unit)}`,
  range || null,
  leader ? `measured with ${leader}` : null,
].filter(Boolean).join(", ");

/** What the study was created with. */
export const settings = (facts) => {
  const { settings: chosen, overview, options } = facts;
  const objectives = overview.objectives.map((one) =>
    h("li", {}, data(one.name), h("span", { class: "soft" }, one.unit ? [" [", data(one.unit), "]"] : null, ": ", data(meaning(one)))));
  return h("dl", { class: "settings" },
    pair("Storage", data(facts.storage)),
    pair("Method", data(overview.method)),
    pair("Objectives", h("ul", {}, objectives)),
    pair("Options", h("ul", {}, options.map((one) => h("li", {}, data(one.name), h("span", { class: "soft" }, ": ", brief(one.values, 120)))))),
    pair("Designs", chosen.designs === null ? "infinitely many" : count(chosen.designs)),
    pair("Initial designs", `${count(chosen.initial_designs)} designs`),
    pair("Candidates", count(chosen.candidates)),
    pair("Seed", String(chosen.seed)),
    pair("Cost", data(chosen.cost || "the method's default")),
    pair("Surrogate", data(chosen.surrogate || "the method's default")),
    pair("Stops at", data(listed(chosen.stop) || "the end of its budget")),
    chosen.reference ? pair("Reference", data(listed(chosen.reference))) : null,
    Object.keys(chosen.origin ?? {}).length ? pair("Created by", brief(listed(chosen.origin), 300)) : null,
    chosen.not_stored.length ? pair("Not stored", `${chosen.not_stored.join(", ")}: a function of the program that created the study`) : null,
    pair("Started", moment(overview.begun)));
};
