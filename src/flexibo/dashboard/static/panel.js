// A panel with a chart: requested and drawn only while it is visible, and again when the study has changed.

import { askPicture, Refusal } from "./api.js";
import { theme } from "./colours.js";
import { h } from "./dom.js";

const PAUSE = 1500; // minimum milliseconds between two drawings: a study may change many times a second

/** One panel.
 *
 * `path()` is the address of its view, or null while there is none; `picture()` is the name of the chart;
 * `onView(view)` is called with every new view; `lack(view)` is a message if there is nothing to draw yet; `onClick(point)`
 * is called with a clicked point; `isAlwaysWanted` requests views for `onView` also while the panel is not visible.
 */
export class Panel {
  constructor({ path, picture = () => undefined, onView = () => {}, lack = () => "", onClick, isAlwaysWanted = false }) {
    Object.assign(this, { path, picture, onView, lack, onClick, isAlwaysWanted });
    this.host = h("div", { class: "picture" });
    this.note = h("p", { class: "note", hidden: true });
    this.empty = h("p", { class: "empty", text: "Computing …" });
    this.element = h("div", { class: "panel-picture" }, this.empty, this.host, this.note);
    this.stop = new AbortController();
    this.version = null;
    this.isWanted = true;
    this.isSeen = false;
    this.observer = new IntersectionObserver((entries) => {
      this.isSeen = entries.at(-1).isIntersecting;
      if (this.isSeen && this.isOld) this.draw();
      if (this.isSeen) this.ask();
    }, { rootMargin: "200px" });
    this.observer.observe(this.element);
  }

  /** The study has changed. */
  refresh() {
    this.isWanted = true;
    this.ask();
  }

  /** Something else is to be shown: another slice, another picture of the same view. */
  change() {
    window.clearTimeout(this.timer);
    this.timer = null;
    this.version = null;
    this.view = null;
    this.refresh();
  }

  async ask() {
    if (!this.isWanted || !(this.isSeen || this.isAlwaysWanted) || this.isAsking || this.timer || this.stop.signal.aborted) return;
    const path = this.path();
    if (path === null) return;
    this.isAsking = true;
    this.isWanted = false;
    let again = null;
    try {
      const answer = await askPicture(path, this.version, this.stop.signal);
      if (path !== this.path()) this.isWanted = true;
      else {
        if (answer.view) this.show(answer.view, answer.version);
        again = answer.again;
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof Refusal)) throw error;
      if (!this.view) this.say(error.message);
      again = 3;
    } finally {
      this.isAsking = false;
    }
    if (again !== null) this.isWanted = true;
    this.timer = window.setTimeout(() => {
      this.timer = null;
      this.ask();
    }, this.view && again === null ? PAUSE : 1000 * (again ?? 0.1));
  }

  show(view, version) {
    this.version = version;
    this.view = view;
    const lacking = view.empty || this.lack(view);
    if (!view.empty) this.onView(view);
    if (lacking) return this.say(lacking);
    this.empty.hidden = true;
    this.host.hidden = false;
    this.note.hidden = version !== "measured";
    this.note.textContent = "Measured designs only; predictions and the Pareto region follow.";
    return this.draw();
  }

  draw() {
    this.isOld = !this.isSeen;
    if (this.isOld || !this.view || this.view.empty || this.lack(this.view)) return;
    const picture = this.picture(this.view);
    if (this.chart && picture === this.drawn) this.chart.update(this.view);
    else {
      this.chart?.dispose();
      this.chart = window.flexiboCharts.draw(this.host, this.view, { picture, theme: theme(), onClick: this.onClick });
      this.drawn = picture;
    }
  }

  say(sentence) {
    this.chart?.dispose();
    this.chart = null;
    this.host.hidden = true;
    this.note.hidden = true;
    this.empty.hidden = false;
    this.empty.textContent = sentence;
  }

  setTheme(name) {
    this.chart?.setTheme(name);
  }

  dispose() {
    this.stop.abort();
    window.clearTimeout(this.timer);
    this.observer?.disconnect();
    this.chart?.dispose();
  }
}
