// The table of all evaluations: a grid that draws only the rows that are seen, and what is known of the chosen one.

import { ask, Refusal } from "./api.js";
import { brief, data, fill, h, select } from "./dom.js";
import { count, counted, designText, digitsOf, moment, number, optionValue, unitOf, withUnit } from "./format.js";

const PAUSE = 1500; // minimum milliseconds between two requests for news
const HEIGHT = 430;
const MANY_OPTIONS = 12; // with more options, also the columns that are not seen are not drawn
const MARKS = { pending: "running", measured: "finished", reached: "waiting", added: "waiting", released: "silent", failed: "failed", impossible: "failed" };
const FIXED = 10; // the columns before the options

let grids;

/** The library of the grid, loaded when the first table is seen. */
const library = () => {
  grids ??= import("./tabulator.min.js").then((found) => {
    const { Tabulator, FormatModule, SortModule, FilterModule, InteractionModule, ResizeColumnsModule, ResizeTableModule } = found;
    Tabulator.registerModule([FormatModule, SortModule, FilterModule, InteractionModule, ResizeColumnsModule, ResizeTableModule]);
    return Tabulator;
  });
  return grids;
};

const state = (name) => h("span", { class: "badge", "data-state": MARKS[name] ?? "silent" }, h("span", { class: "dot", "aria-hidden": "true" }), name);

const named = (id) => (id < 0 ? "added" : String(id));

/** Numbers before texts, and what is missing last, in both directions. */
const sorter = (a, b, _rowA, _rowB, _column, direction) => {
  const isMissing = (value) => value === null || value === undefined || value === "";
  if (isMissing(a) || isMissing(b)) return (isMissing(a) - isMissing(b)) * (direction === "asc" ? 1 : -1);
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : typeof b === "number" ? 1 : String(a) < String(b) ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
};

/** The panel: filters, the grid, and the details of one evaluation. `path` is the address of the study's API. */
export class Evaluations {
  constructor(path, { unit, onDetails = () => null }) {
    Object.assign(this, { path, unit, onDetails });
    this.rows = new Map();
    this.after = "";
    this.wanted = { objective: "", state: "", words: [] };
    this.parts = { filters: h("div", { class: "fields" }), said: h("p", { class: "soft", role: "status" }), grid: h("div", { class: "evaluations" }), chosen: h("div") };
    this.empty = h("p", { class: "empty", text: "Loading …" });
    this.element = h("div", {}, this.parts.filters, this.empty, this.parts.grid, this.parts.said, this.parts.chosen);
    this.observer = new IntersectionObserver((entries) => {
      this.isSeen = entries.at(-1).isIntersecting;
      if (this.isSeen) this.ask();
    }, { rootMargin: "200px" });
    this.observer.observe(this.element);
    this.isWanted = true;
  }

  /** The study has changed. */
  refresh() {
    this.isWanted = true;
    this.ask();
  }

  async ask() {
    if (!this.isWanted || !this.isSeen || this.isAsking || this.isGone) return;
    this.isAsking = true;
    this.isWanted = false;
    try {
      const query = this.table ? `after=${encodeURIComponent(this.after)}` : "first";
      const [Tabulator, found] = await Promise.all([library(), ask(`${this.path}/evaluations?${query}`)]);
      if (!this.isGone) await this.take(Tabulator, found);
      this.isWanted ||= this.after === "";
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.isWanted = true;
      if (!this.table) this.empty.textContent = error.message;
    } finally {
      window.setTimeout(() => {
        this.isAsking = false;
        this.ask();
      }, this.after ? PAUSE : 10);
    }
  }

  async take(Tabulator, found) {
    const columns = found.options.join("\0");
    if (this.table && !found.all && this.columns !== columns) {
      this.after = ""; // the study has other options now: all rows are asked for again
      return;
    }
    this.after = found.after;
    this.leftOut = found.all ? found.left_out : this.leftOut;
    const fresh = found.rows.map((cells) => this.rowOf(found, cells));
    if (found.all) this.rows.clear(); // it may be another study of the same name
    const added = fresh.filter(({ id }) => !this.rows.has(id));
    const changed = fresh.filter(({ id }) => this.rows.has(id));
    for (const row of fresh) this.rows.set(row.id, row);
    if (!this.rows.size) {
      this.empty.textContent = "No evaluation has been asked yet.";
      return;
    }
    this.empty.hidden = true;
    this.offerFilters(found);
    if (!this.table || this.columns !== columns) await this.make(Tabulator, found, added);
    else if (found.all) await this.table.replaceData(added);
    else if (fresh.length) await this.change(added, changed);
    this.say();
  }

  /** Rows are changed in place: neither the place of the reader nor the order nor the filters are lost. */
  async change(added, changed) {
    this.table.blockRedraw();
    if (changed.length) await this.table.updateData(changed);
    if (added.length) await this.table.addData(added, true);
    this.table.restoreRedraw();
    this.table.refreshFilter();
  }

  rowOf(found, cells) {
    const [id, objective, place, value, cost, attempt, time, reason, why, stop] = cells;
    const row = { id, objective: found.objectives[objective], state: found.states[place], value, cost, attempt, time, reason, why, stop };
    cells.slice(FIXED).forEach((option, i) => { row[`o${i}`] = option; });
    row.text = [named(id), row.objective, row.state, value, reason, why, ...found.options.map((name, i) => `${name}=${row[`o${i}`]}`)].join(" ").toLowerCase();
    return row;
  }

  make(Tabulator, found, rows) {
    this.table?.destroy();
    this.columns = found.options.join("\0");
    this.unit = unitOf(found.cost_label);
    const units = new Map(found.objectives.map((name, j) => [name, found.units[j]]));
    this.digits = new Map(found.objectives.map((name) => [name, digitsOf(rows.filter((row) => row.objective === name).slice(0, 2000).map((row) => row.value))]));
    // Titles and cells are elements: a text would be read as HTML.
    const column = (field, title, format, more = {}) => ({ field, title: "", titleFormatter: () => data(title), formatter: (cell) => format(cell.getValue(), cell), sorter, headerSortTristate: false, ...more });
    const right = { hozAlign: "right", headerHozAlign: "right" };
    const value = (shown, cell) => {
      const { objective, stop } = cell.getData();
      if (shown === null) return h("span", { text: "–" });
      const early = stop === null ? [] : [h("span", { class: "soft", text: ` @${count(stop)}`, title: `measured to step ${count(stop)} so far` })];
      return h("span", {}, withUnit(shown, units.get(objective), this.digits.get(objective)), ...early);
    };
    const options = found.options.map((name, i) => column(`o${i}`, name, (shown) => brief(optionValue(shown), 60), { minWidth: 70, ...(typeof rows[0]?.[`o${i}`] === "number" ? right : {}) }));
    const opener = (id, cell) => h("button", { type: "button", class: "opens", "aria-label": `Evaluation ${named(id)}`, onclick: (event) => { event.stopPropagation(); this.open(cell.getData().id); } }, named(id));
    this.table = new Tabulator(this.parts.grid, {
      data: rows, index: "id", height: HEIGHT, layout: "fitDataFill", columnDefaults: { resizable: "header" },
      renderHorizontal: found.options.length > MANY_OPTIONS ? "virtual" : "basic",
      placeholder: h("p", { class: "empty", text: "No evaluation matches." }),
      initialSort: [{ column: "id", dir: "desc" }],
      columns: [
        column("id", "number", opener, { ...right, width: 96 }),
        column("objective", "objective", (shown) => brief(shown, 40)),
        column("state", "state", state, { width: 118 }),
        column("value", "value", value, right),
        column("cost", this.unit ? `cost [${this.unit}]` : "cost", (shown) => h("span", { text: number(shown) }), right),
        ...options,
        column("time", "when", (shown) => h("span", { text: shown === null ? "–" : moment(new Date(1000 * shown).toISOString()) }), { width: 185 }),
        column("why", "why, or what went wrong", (shown, cell) => brief(cell.getData().reason || shown || "–", 90), { width: 420 }),
      ],
    });
    this.table.on("rowClick", (_, row) => this.open(row.getData().id));
    this.table.on("dataFiltered", () => this.say());
    return new Promise((resolve) => {
      this.table.on("tableBuilt", () => {
        this.filter();
        resolve();
      });
    });
  }

  offerFilters({ objectives }) {
    const states = [...new Set([...this.rows.values()].map((row) => row.state))].sort();
    const key = [...objectives, ...states].join("\0");
    if (this.offered === key) return;
    this.offered = key;
    const change = (field) => (chosen) => {
      this.wanted[field] = chosen;
      this.filter();
    };
    const words = this.parts.filters.querySelector("input")?.value ?? "";
    this.parts.filters.replaceChildren(
      select("Objective", [["", "all"], ...objectives.map((name) => [name, name])], this.wanted.objective, change("objective")),
      select("State", [["", "all"], ...states.map((name) => [name, name])], this.wanted.state, change("state")),
      h("label", { class: "field" }, h("span", { text: "Search" }), h("input", { type: "search", value: words, placeholder: "number, option=value, reason …", spellcheck: "false", oninput: (event) => {
        window.clearTimeout(this.typing);
        this.typing = window.setTimeout(() => change("words")(event.target.value.toLowerCase().split(/\s+/).filter(Boolean)), 150);
      } })));
  }

  filter() {
    const { objective, state: wantedState, words } = this.wanted;
    if (!this.table) return;
    if (!objective && !wantedState && !words.length) this.table.clearFilter();
    else this.table.setFilter((row) => (!objective || row.objective === objective) && (!wantedState || row.state === wantedState) && words.every((word) => row.text.includes(word)));
    this.say();
  }

  say() {
    if (!this.table) return;
    const shown = this.table.getDataCount("active");
    const all = counted(this.rows.size, "evaluation");
    const left = this.leftOut ? ` The table has the latest ones; ${count(this.leftOut)} earlier ones are in the CSV file.` : "";
    fill(this.parts.said, shown === this.rows.size ? `${all}.${left}` : `${count(shown)} of ${all}.${left}`);
  }

  async open(id) {
    this.opened = id;
    try {
      const found = await ask(`${this.path}/evaluations/${id}`);
      if (this.opened !== id || this.isGone) return;
      fill(this.parts.chosen, details(found, this.onDetails(found), () => this.close()));
      this.parts.chosen.querySelector(".chosen")?.scrollIntoView({ block: "nearest" });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      fill(this.parts.chosen, h("p", { class: "problem", text: error.message }));
    }
  }

  close() {
    this.opened = null;
    this.parts.chosen.replaceChildren();
  }

  dispose() {
    this.isGone = true;
    this.observer.disconnect();
    this.table?.destroy();
  }
}

const pair = (name, ...value) => h("div", {}, h("dt", {}, typeof name === "string" ? name : data(name.text)), h("dd", {}, ...value));

/** Everything that is known of one evaluation. */
const details = (found, more, close) => {
  const unit = unitOf(found.cost_label);
  const title = found.id < 0 ? "Added result" : `Evaluation ${count(found.id)}`;
  const second = found.runner_up;
  const facts = [
    ...found.values.map((one) => pair({ text: one.name },
      h("span", { class: "figure" }, data(withUnit(one.value, one.unit, 8))),
      one.deviation > 0 ? h("span", { class: "soft" }, data(` ± ${withUnit(one.deviation, one.unit, 2)}`)) : null)),
    ...(found.curve?.length ? [pair(`${found.curve.at(-1)[0] === found.last_step ? "last" : "reached"} step`, `${count(found.curve.at(-1)[0])}: ${number(found.curve.at(-1)[1])}`)] : []),
    found.to_step === undefined ? null : pair("steps", `${count(found.from_step)} to ${count(found.to_step)} of ${count(found.last_step)}`),
    pair("state", state(found.state), found.initial ? h("span", { class: "soft", text: " initial design" }) : null),
    pair("cost", withUnit(found.cost, unit)),
    found.lost_cost > 0 ? pair("lost to attempts without an answer", withUnit(found.lost_cost, unit)) : null,
    found.expected_cost === null || found.id < 0 ? null : pair("expected cost", withUnit(found.expected_cost, unit)),
    found.gain === null ? null : pair("expected gain", number(found.gain)),
    found.attempt > 1 ? pair("attempt", count(found.attempt)) : null,
    found.asked ? pair("asked", moment(found.asked)) : null,
    found.answered ? pair("answered", moment(found.answered)) : null,
    found.worker ? pair("worker", brief(found.worker, 40)) : null,
  ];
  const options = Object.entries(found.design).map(([name, value]) => pair({ text: name }, data(optionValue(value))));
  return h("section", { class: "chosen", "aria-label": "Selected evaluation" },
    h("div", { class: "chosen-top" }, h("h3", {}, `${title}: `, data(found.objective)), h("button", { type: "button", onclick: close }, "Close")),
    h("dl", { class: "pairs" }, facts), h("dl", { class: "pairs" }, options),
    found.why ? h("p", {}, h("strong", { text: "Why: " }), data(found.why)) : null,
    second ? h("p", { class: "soft" }, "Runner-up: ", data(second.objective), " of ", data(designText(second.design)), `, gain ${number(second.gain)}, cost ${withUnit(second.cost, unit)}.`) : null,
    found.reason ? [h("h4", { text: "Output" }), h("pre", { class: "output", tabindex: "0" }, data(found.reason))] : null,
    more);
};
