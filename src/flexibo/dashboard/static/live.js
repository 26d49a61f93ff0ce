// The live feed: messages of the server, and whether they still arrive.

const SILENT = 15_000; // milliseconds without a message after which the data is called old
const LATEST = 10_000;

/** Follows the server while the page is looked at: a hidden page hangs up, so that many tabs do not use up all lines. */
export class LiveFeed {
  constructor({ onStudies, onStorages, onState }) {
    Object.assign(this, { onStudies, onStorages, onState });
    this.heard = 0;
    this.tries = 0;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.hangUp() : this.connect()));
    window.setInterval(() => this.judge(), 1000);
    this.connect();
  }

  connect() {
    window.clearTimeout(this.timer);
    this.source?.close();
    this.source = new EventSource("/api/live");
    this.source.addEventListener("studies", (event) => this.hear(event, ({ studies, storages }) => {
      this.onStudies(studies);
      this.onStorages(storages);
    }));
    this.source.addEventListener("pulse", (event) => this.hear(event, ({ storages }) => this.onStorages(storages)));
    this.source.addEventListener("error", () => this.retry());
  }

  hear(event, use) {
    this.heard = Date.now();
    this.tries = 0;
    use(JSON.parse(event.data));
    this.judge();
  }

  retry() {
    this.source.close();
    this.tries += 1;
    this.judge();
    if (!document.hidden) this.timer = window.setTimeout(() => this.connect(), Math.min(LATEST, 500 * 2 ** this.tries));
  }

  hangUp() {
    window.clearTimeout(this.timer);
    this.source?.close();
  }

  judge() {
    const age = this.heard ? Date.now() - this.heard : Infinity;
    const isOld = age > SILENT || this.tries > 0;
    this.onState(isOld ? (this.heard || this.tries ? "lost" : "connecting") : "live", age / 1000);
  }
}
