// The dashboard: the list of studies, and the study that is shown.

import { offerColours, onTheme } from "./colours.js";
import { Comparison } from "./compare.js";
import { data, fill, h } from "./dom.js";
import { counted, duration } from "./format.js";
import { mostInteresting, showStudies } from "./list.js";
import { LiveFeed } from "./live.js";
import { StudyPage } from "./study.js";

const STALE = 15; // seconds since a storage was last read after which its data is called old
const byId = (id) => document.getElementById(id);

class App {
  constructor() {
    this.studies = [];
    this.before = new Map();
    this.main = byId("main");
    this.narrow = window.matchMedia("(max-width: 860px)");
    this.narrow.addEventListener("change", () => { byId("study-menu").open = !this.narrow.matches; });
    offerColours(byId("colours"));
    onTheme((name) => {
      this.page?.setTheme(name);
      this.comparison?.setTheme(name);
    });
    byId("skip").addEventListener("click", (event) => {
      event.preventDefault();
      this.main.focus();
    });
    window.addEventListener("hashchange", () => this.route());
    this.feed = new LiveFeed({
      onStudies: (studies) => this.take(studies),
      onStorages: (storages) => this.showStorages(storages),
      onState: (state, age) => this.showConnection(state, age),
    });
  }

  wanted() {
    const query = new URLSearchParams(window.location.hash.slice(1));
    return { id: query.get("study"), other: query.get("with") };
  }

  take(studies) {
    this.studies = studies;
    this.announce(studies);
    byId("study-count").textContent = studies.length ? String(studies.length) : "";
    this.route();
  }

  route() {
    const { id, other } = this.wanted();
    const study = this.studies.find((one) => one.id === (id ?? this.page?.study.id)) ?? (id ? null : mostInteresting(this.studies));
    showStudies(byId("studies"), this.studies, study?.id ?? null);
    if (!study) return this.showNone(id);
    if (this.page?.study.id !== study.id) this.open(study);
    this.page.studies = this.studies;
    this.page.refresh(study, this.studies);
    return this.compare(study, this.studies.find((one) => one.id === other && one.id !== study.id) ?? null);
  }

  open(study) {
    const isFirst = !this.page;
    this.close();
    this.main.replaceChildren();
    this.page = new StudyPage(this.main, study, { onCompare: (id) => this.go(study.id, id) });
    document.title = `${study.name} – flexibo`;
    byId("study-menu").open = !this.narrow.matches;
    if (!isFirst) {
      window.scrollTo(0, 0);
      this.main.focus({ preventScroll: true });
    }
  }

  close() {
    this.endComparison();
    this.page?.dispose();
    this.page = null;
  }

  go(id, other) {
    window.location.hash = new URLSearchParams({ study: id, ...(other ? { with: other } : {}) }).toString();
  }

  compare(study, other) {
    const pair = other ? `${study.id} ${other.id}` : "";
    if (pair !== (this.pair ?? "")) {
      this.endComparison();
      if (other) {
        this.pair = pair;
        this.comparison = new Comparison(study, other, () => this.go(study.id, null));
        this.page.comparison.replaceChildren(this.comparison.element);
        this.comparison.element.querySelector("h2").focus();
      }
    }
    this.comparison?.refresh(this.studies);
  }

  endComparison() {
    this.comparison?.dispose();
    this.comparison?.element.remove();
    this.comparison = null;
    this.pair = "";
  }

  showNone(id) {
    this.close();
    const text = id && this.studies.length ? "This study no longer exists; choose one from the list."
      : "There are no studies yet. A study appears here when it is started.";
    fill(this.main, h("p", { class: "empty", text }));
  }

  showStorages(storages) {
    const said = storages.flatMap(({ storage, problem, seconds_since_read: age }) => {
      if (problem) return [h("p", { class: "problem" }, data(problem))];
      return age > STALE ? [h("p", { class: "problem" }, data(storage), ` was last read ${duration(age)} ago.`)] : [];
    });
    fill(byId("storages"), said);
    if (!this.studies.length && !this.page) this.showNone(null);
  }

  showConnection(state, age) {
    const words = { live: "Live", connecting: "Connecting", lost: Number.isFinite(age) ? `Not connected: the data is ${duration(age)} old` : "Not connected: retrying" };
    const host = byId("connection");
    if (host.dataset.state !== state && state === "lost") this.say("The connection is lost; trying to reconnect.");
    if (host.dataset.state === "lost" && state === "live") this.say("Reconnected.");
    host.dataset.state = state;
    if (byId("connection-text").textContent !== words[state]) byId("connection-text").textContent = words[state];
  }

  /** Says aloud what matters: a study ended or fell silent, something failed. */
  announce(studies) {
    const said = [];
    for (const study of studies) {
      const before = this.before.get(study.id);
      if (before && before.state !== study.state && ["finished", "stopped", "silent"].includes(study.state)) said.push(`${study.name} is ${study.state}.`);
      if (before && study.failed > before.failed) said.push(`${study.name}: ${counted(study.failed - before.failed, "new failure")}.`);
      this.before.set(study.id, study);
    }
    if (said.length) this.say(said.join(" "));
  }

  say(text) {
    byId("announcements").textContent = text;
  }
}

document.flexiboDashboard = new App();
