// Two studies: in one picture where their objectives are the same, and side by side.

import { ask, Refusal } from "./api.js";
import { cell, choice, data, fill, h, table } from "./dom.js";
import { count, given, number, percent, withUnit } from "./format.js";
import { noFront } from "./headline.js";
import { theme } from "./colours.js";
import { badge, label } from "./list.js";
import { Panel } from "./panel.js";

const PICTURES = [["hypervolume", "Hypervolume"], ["region", "Region"], ["evaluations", "Evaluations"], ["spend", "Spending"]];

const ROWS = [
  ["state", ({ facts }) => badge(facts.state)],
  ["method", ({ facts }) => data(facts.overview?.method ?? "–")],
  ["spent", ({ facts }) => withUnit(facts.spent, facts.cost_unit)],
  ["budget", ({ facts }) => (facts.budget === null ? "no limit" : given(facts.budget, facts.cost_unit))],
  ["measured", ({ facts }) => count(facts.measured)],
  ["failed attempts", ({ facts }) => count(facts.failed)],
  ["confirmed designs", ({ front }) => (front ? count(front.confirmed) : "–")],
  ["promising designs", ({ front }) => (front ? count(front.promising) : "–")],
  ["missed at most", ({ front }) => percent(front?.missed_at_most)],
  ["cost to confirm all", ({ front, facts }) => withUnit(front?.confirm_all_cost, facts.cost_unit, 3)],
  ["hypervolume", ({ trace }) => number(trace?.rows.hypervolume.findLast((value) => typeof value === "number") ?? (trace?.known_hypervolume || undefined))],
  ["remaining region", ({ trace }) => {
    const volumes = (trace?.rows.region_volume ?? []).filter((value) => typeof value === "number");
    return volumes.length && volumes[0] > 0 ? percent(volumes.at(-1) / volumes[0]) : "–";
  }],
];

/** Two views of the same kind in one chart, drawn when both are there. */
class Overlay {
  constructor(kind, names, picture) {
    Object.assign(this, { kind, names, picture });
    this.host = h("div", { class: "picture" });
    this.empty = h("p", { class: "empty", text: "Computing …" });
    this.element = h("div", { class: "panel-picture" }, this.empty, this.host);
    this.seen = [];
  }

  take(views) {
    if (!views.every(Boolean) || views.every((view, s) => view === this.seen[s])) return;
    this.seen = views;
    this.draw();
  }

  draw() {
    if (!this.seen.length) return;
    const view = { kind: "overlay", names: this.names, views: this.seen };
    this.empty.hidden = true;
    this.chart?.dispose();
    this.chart = window.flexiboCharts.draw(this.host, view, { picture: this.picture(), theme: theme() });
  }

  setTheme(name) {
    this.chart?.setTheme(name);
  }

  dispose() {
    this.chart?.dispose();
  }
}

class Side {
  constructor(study, picture, onChange) {
    Object.assign(this, { study, facts: study, front: null, trace: null, onChange });
    const path = (kind) => () => `/api/studies/${study.id}/${kind}`;
    this.panels = [
      new Panel({ path: path("front"), isAlwaysWanted: true, lack: noFront, onView: (view) => this.take("front", view) }),
      new Panel({ path: path("trace"), isAlwaysWanted: true, picture, onView: (view) => this.take("trace", view) }),
    ];
  }

  take(kind, view) {
    this[kind] = view;
    this.onChange();
  }

  async refresh(study) {
    this.study = study;
    this.panels.forEach((panel) => panel.refresh());
    try {
      this.take("facts", await ask(`/api/studies/${study.id}`));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
}

/** The comparison of two studies. */
export class Comparison {
  constructor(first, second, close) {
    this.picture = "hypervolume";
    this.sides = [first, second].map((study) => new Side(study, () => this.picture, () => this.figures()));
    this.table = h("div", { class: "compared" });
    const names = [first, second].map((study) => label(study, [first, second]));
    this.names = names;
    this.overlays = [new Overlay("front", names, () => "overlay-front"), new Overlay("trace", names, () => `overlay-${this.picture === "spend" ? "evaluations" : this.picture}`)];
    const pick = choice("What to compare against cost", PICTURES, this.picture, (picture) => {
      this.picture = picture;
      this.sides.forEach((side) => side.panels[1].draw());
      this.overlays[1].draw();
    });
    const column = (which) => this.sides.map((side, s) => h("div", { class: "half" }, h("h3", {}, data(names[s])), side.panels[which].element));
    this.element = h("section", { class: "panel wide", "aria-labelledby": "comparison" },
      h("div", { class: "panel-top" }, h("h2", { id: "comparison", tabindex: "-1", text: "Comparison" }), h("button", { type: "button", onclick: close }, "Close the comparison")),
      this.table,
      h("h3", { text: "Both fronts in one picture" }), this.overlays[0].element,
      h("div", { class: "halves" }, column(0)),
      pick,
      this.overlays[1].element,
      h("div", { class: "halves" }, column(1)));
    this.figures();
  }

  figures() {
    this.overlays?.forEach((overlay) => overlay.take(this.sides.map((side) => side[overlay.kind])));
    const head = ["", ...this.names.map((name) => data(name))];
    fill(this.table, table("The two studies in numbers", head, ROWS.map(([name, value]) =>
      h("tr", {}, h("th", { scope: "row", text: name }), this.sides.map((side) => cell(value(side)))))));
  }

  refresh(studies) {
    this.sides.forEach((side) => {
      const now = studies.find((study) => study.id === side.study.id);
      if (now && now.version !== side.shown) {
        side.shown = now.version;
        side.refresh(now);
      }
    });
  }

  setTheme(name) {
    [...this.overlays, ...this.sides.flatMap((side) => side.panels)].forEach((panel) => panel.setTheme(name));
  }

  dispose() {
    [...this.overlays, ...this.sides.flatMap((side) => side.panels)].forEach((panel) => panel.dispose());
  }
}
