// The page of one study.

import { ask, Refusal } from "./api.js";
import { designCommands, studyCommands } from "./commands.js";
import { choice, data, fill, h, select } from "./dom.js";
import { Evaluations } from "./evaluations.js";
import { ago, count, counted, unitOf } from "./format.js";
import { chosenDesign, headline, noFront } from "./headline.js";
import { badge, label } from "./list.js";
import { Panel } from "./panel.js";
import * as tables from "./tables.js";

const COURSES = [["hypervolume", "Hypervolume"], ["region", "Region"], ["evaluations", "Evaluations"], ["spend", "Spending"], ["gains", "Gains"]];
const FRONTS = [["pairs", "In pairs"], ["front3d", "In three dimensions"]];
const PAUSE = 700;

let sections = 0;

const attempts = (study) => {
  if (study.measured === undefined) return [];
  return [`${count(study.measured)} measured`, study.stopped_early ? `${count(study.stopped_early)} stopped early` : "", study.failed ? counted(study.failed, "failed attempt") : ""];
};

const panel = (title, about, content, { wide = false } = {}) => {
  sections += 1;
  const id = `section-${sections}`;
  return h("section", { class: wide ? "panel wide" : "panel", "aria-labelledby": id },
    h("h2", { id, tabindex: "-1", text: title }), about ? h("p", { class: "about", text: about }) : null, content);
};

/** Shows one study and keeps what it shows up to date. */
export class StudyPage {
  constructor(host, study, { onCompare }) {
    Object.assign(this, { host, study, onCompare });
    this.views = {};
    this.course = "hypervolume";
    this.frontPicture = "pairs";
    this.unit = study.cost_unit ?? "";
    this.slice = { objective: "", x: "", y: "" };
    this.make();
    this.ticking = window.setInterval(() => this.tick(), 1000);
  }

  path(kind) {
    return `/api/studies/${this.study.id}/${kind}`;
  }

  make() {
    const view = (kind, options = {}) => new Panel({ path: () => this.path(kind), ...options });
    this.parts = {
      top: h("div", { class: "study-top" }), problem: h("div", { role: "status" }), figures: h("div"), chosen: h("div"), fronts: h("div"),
      queue: h("div"), failures: h("div"), choices: h("div", {}, h("p", { class: "empty", text: "Computing …" })), notes: h("div"), commands: h("div"), settings: h("div"), slices: h("div", { class: "fields" }), failed: h("span"),
    };
    this.panels = {
      front: view("front", { isAlwaysWanted: true, lack: noFront, picture: (seen) => this.pictureOfFront(seen), onView: (seen) => this.takeFront(seen), onClick: (point) => this.choose(point) }),
      trace: view("trace", { isAlwaysWanted: true, picture: () => this.course, onView: (seen) => this.take("trace", seen) }),
      spending: view("spending", { onView: (seen) => { this.unit = unitOf(seen.cost_label); } }),
      importance: view("importance"),
      parallel: view("parallel"),
      curves: view("curves"),
      slice: new Panel({ path: () => this.slicePath() }),
    };
    this.choices = new Words(() => this.path("choices"), (seen) => fill(this.parts.choices, tables.choices(seen, unitOf(seen.cost_label))), this.parts.choices);
    this.evaluations = new Evaluations(`/api/studies/${this.study.id}`, { unit: this.unit, onDetails: (found) => designCommands(this.facts?.commands, found.design) });
    this.host.replaceChildren(this.layout());
    this.showTop();
  }

  layout() {
    const { parts, panels } = this;
    const courses = choice("What to draw against cost", COURSES, this.course, (picture) => {
      this.course = picture;
      panels.trace.draw();
    });
    this.comparison = h("div", { class: "wide" });
    const grid = h("div", { class: "grid" },
      panel("Front and Pareto region", "Each marker is a design. Point at one to see its options, its values and the cost to confirm it; click to select it.",
        [parts.fronts, panels.front.element, parts.chosen], { wide: true }),
      panel("Progress", "The results of the evaluations, against their cost.", [courses, panels.trace.element]),
      panel("Spending", "The cost of each objective so far, and projected to the end of the budget if the recent mix of objectives continues.", panels.spending.element),
      this.curves = panel("Learning curves", "The values of each design at its steps, and where it was stopped. A design that was stopped may be continued.", panels.curves.element, { wide: true }),
      panel("Queue", null, parts.queue, { wide: true }),
      panel("Evaluations", "Every evaluation, also failed ones and those in progress. Click a heading to sort, a row to see its design, why it was asked, and its output.", this.evaluations.element, { wide: true }),
      panel("Why these evaluations", "The expected gain and cost of each evaluation when it was asked, and the runner-up.", parts.choices, { wide: true }),
      panel("Importance of options", "The share of each objective's variance that an option explains, according to the model.", panels.importance.element),
      panel("Slice", "The prediction of an objective along one or two options; the others are fixed at a balanced design of the front.", [parts.slices, panels.slice.element]),
      panel("Parallel coordinates", "A line for each design, across its options and objectives.", panels.parallel.element, { wide: true }),
      panel("Failures", null, parts.failures, { wide: true }),
      panel("Commands", "To copy into a terminal; the dashboard itself changes nothing.", parts.commands, { wide: true }),
      panel("Notes", null, parts.notes),
      panel("Settings", null, parts.settings));
    this.curves.hidden = true; // until it is known that an objective has steps
    this.grid = grid;
    this.nav = h("div", {}, this.jumps(grid));
    return h("div", {}, parts.top, parts.problem, parts.figures, this.nav, this.comparison, grid);
  }

  /** Buttons that lead to the parts of the page. */
  jumps(grid) {
    const headings = [...grid.querySelectorAll("section:not([hidden]) > h2")];
    return h("nav", { class: "jumps", "aria-label": "Parts of this study" }, headings.map((heading) => h("button", { type: "button", onclick: () => {
      heading.scrollIntoView({ block: "start" });
      heading.focus({ preventScroll: true });
    } }, heading.textContent)));
  }

  showTop(studies = []) {
    const { study } = this;
    const others = studies.filter((other) => other.id !== study.id);
    const last = study.last_event ? `last event ${ago(this.now() - study.last_event)}` : "";
    const why = ["finished", "stopped"].includes(study.state) ? study.stopped : "";
    const said = [why, study.method ? `Method ${study.method}` : "", ...attempts(study), last].filter(Boolean).join(" · ");
    if (!this.title) {
      this.title = h("h1", {}, data(study.name));
      this.line = h("p", { class: "soft" });
      this.actions = h("div", { class: "actions" });
      this.parts.top.append(h("div", { class: "title" }, this.title, this.line), this.actions);
    }
    fill(this.line, badge(study.state), said ? ` · ${said}` : null);
    const key = others.map((other) => other.id + other.name).join("\n");
    if (this.others === key && this.actions.childElementCount) return;
    this.others = key;
    const compare = others.length ? select("Compare with", [["", "another study"], ...others.map((other) => [other.id, label(other, studies)])], "", (id) => id && this.onCompare(id)) : null;
    this.actions.replaceChildren(...[compare, h("a", { class: "button", href: this.path("evaluations.csv"), download: "" }, "Download CSV")].filter(Boolean));
  }

  /** The server's time, in seconds since 1970. */
  now() {
    return Date.now() / 1000 + (this.ahead ?? 0);
  }

  /** The study as the list says it is now. */
  refresh(study, studies) {
    const isNew = study.version !== this.shown || study.state !== this.study.state || study.problem !== this.study.problem;
    this.study = study;
    this.showTop(studies);
    this.showProblem();
    if (study.version !== this.shown) {
      this.shown = study.version;
      Object.values(this.panels).forEach((one) => one.refresh());
      this.choices.refresh();
      this.evaluations.refresh();
    }
    if (isNew || !this.facts || study.pending) this.askFacts();
  }

  async askFacts() {
    if (this.isAsking || this.isGone) {
      this.isWanted = true;
      return;
    }
    this.isAsking = true;
    this.isWanted = false;
    try {
      const facts = await ask(`/api/studies/${this.study.id}`);
      if (!this.isGone) this.takeFacts(facts);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    } finally {
      window.setTimeout(() => {
        this.isAsking = false;
        if (this.isWanted) this.askFacts();
      }, PAUSE);
    }
  }

  takeFacts(facts) {
    this.ahead = facts.now - Date.now() / 1000;
    if (!facts.overview) return;
    const isFirst = !this.facts;
    this.facts = facts;
    this.tick();
    fill(this.parts.failures, tables.failures(facts.failures, facts.failures_in_all, this.unit));
    fill(this.parts.notes, tables.notes(facts.notes, facts.notes_in_all));
    fill(this.parts.commands, studyCommands(facts.commands));
    fill(this.parts.settings, tables.settings(facts));
    if (isFirst) this.offerSlices(facts);
    this.offerCurves(facts);
  }

  /** What changes with time alone. */
  tick() {
    if (!this.facts || document.hidden) return;
    const now = this.now();
    fill(this.parts.figures, headline(this.facts, this.views, now, this.unit));
    fill(this.parts.queue, [tables.queue(this.facts.queue, now, this.unit), tables.queued(this.facts.queued, this.facts.queued_in_all, this.unit)]);
    this.showTop(this.studies ?? []);
  }

  showProblem() {
    const { study } = this;
    const said = study.problem ? h("p", { class: "problem" }, data(study.problem), study.spent === undefined ? null : " The page shows what could be read.")
      : study.state === "reading" ? h("p", { class: "hint", text: `The study is being read: ${count(study.read)} of ${counted(study.events, "event")}.` }) : null;
    fill(this.parts.problem, said);
  }

  take(kind, view) {
    this.views[kind] = view;
    this.tick();
  }

  takeFront(view) {
    this.take("front", view);
    const many = view.axes.filter((axis) => axis.optimise).length > 2;
    if (many && !this.parts.fronts.childElementCount) {
      this.parts.fronts.append(choice("How to draw the front", FRONTS, this.frontPicture, (picture) => {
        this.frontPicture = picture;
        this.panels.front.draw();
      }));
    }
  }

  pictureOfFront(view) {
    return view.axes.filter((axis) => axis.optimise).length > 2 ? this.frontPicture : "front";
  }

  choose(point) {
    if (!point || !this.views.front) return;
    const commands = designCommands(this.facts?.commands, point.design, ["front-promising", "front-unsure"].includes(point.kind) ? point.number : 0);
    fill(this.parts.chosen, chosenDesign(point, this.views.front, this.unit, commands, () => this.parts.chosen.replaceChildren()));
  }

  /** Shows the learning curves, if an objective has steps. */
  offerCurves(facts) {
    const hasSteps = facts.overview.objectives.some(({ reached }) => reached !== undefined);
    if (this.curves.hidden === !hasSteps) return;
    this.curves.hidden = !hasSteps;
    this.nav.replaceChildren(this.jumps(this.grid));
  }

  offerSlices(facts) {
    const objectives = facts.overview.objectives.map(({ name }) => [name, name]);
    const options = facts.options.map(({ name }) => [name, name]);
    this.slice = { objective: objectives[0][0], x: options[0][0], y: "" };
    const changed = (field) => (value) => {
      this.slice[field] = value;
      this.panels.slice.change();
    };
    this.parts.slices.replaceChildren(
      select("Objective", objectives, this.slice.objective, changed("objective")),
      select("Option", options, this.slice.x, changed("x")),
      select("Second option", [["", "none"], ...options], "", changed("y")));
    this.panels.slice.refresh();
  }

  slicePath() {
    const { objective, x, y } = this.slice;
    if (!objective || !x) return null;
    const query = new URLSearchParams({ objective, x, ...(y && y !== x ? { y } : {}) });
    return `${this.path("slice")}?${query}`;
  }

  setTheme(name) {
    Object.values(this.panels).forEach((one) => one.setTheme(name));
  }

  dispose() {
    this.isGone = true;
    window.clearInterval(this.ticking);
    Object.values(this.panels).forEach((one) => one.dispose());
    this.choices.dispose();
    this.evaluations.dispose();
  }
}

/** A view that is shown in words: asked for as a picture is. */
class Words extends Panel {
  constructor(path, show, element) {
    super({ path });
    this.showWords = show;
    this.observer.disconnect();
    this.observer.observe(element);
    this.element = element;
  }

  show(view, version) {
    Object.assign(this, { version, view });
    if (view.empty) fill(this.element, h("p", { class: "empty", text: view.empty }));
    else this.showWords(view);
  }

  say(sentence) {
    fill(this.element, h("p", { class: "empty", text: sentence }));
  }
}
