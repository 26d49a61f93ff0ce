"use strict";
// flexiboCharts.draw(element, view, options) draws a view of a study in an element and returns a handle:
// update(view), resize(), setTheme("light" | "dark"), pixel(index), dispose(). flexiboCharts.digitsOf(values) says how
// many digits distinguish the values.
//
// Options: `picture` (the name of the chart; by default the first one for the kind of view), `theme` ("light" or
// "dark"; by default the user's preference), `axes` (names of the objectives to draw), `onHover(point)`,
// `onClick(point)`.
(() => {
  const { parts } = window.flexiboCharts;
  const { element } = parts.text;
  const { THEMES } = parts.looks;
  const { layout, pixelOf, placeAt, panelAt } = parts.layout;
  const around = parts.around;

  const KINDS = {
    front: ["front", "pairs", "front3d"],
    trace: ["hypervolume", "region", "evaluations", "spend", "gains"],
    spending: ["spending"],
    importance: ["importance"],
    parallel: ["parallel"],
    slice: ["slice"],
    choices: ["choices"],
    curves: ["curves"],
    overlay: ["overlay-front", "overlay-hypervolume", "overlay-region", "overlay-evaluations"],
  };
  const START = { azimuth: -0.65, elevation: 0.42 };
  const HINTS = { zoom: "drag to zoom", turn: "drag to rotate" };

  const pictureOf = (view, asked) => {
    const known = Object.hasOwn(KINDS, view?.kind) ? KINDS[view.kind] : null;
    if (!known)
      throw new TypeError(
        `A view of the kind "${view?.kind}" cannot be drawn; known are ${Object.keys(KINDS).join(", ")}.`,
      );
    const many = view.kind === "front" && view.axes.filter((axis) => axis.optimise).length > 2;
    const name = asked ?? (many ? "pairs" : known[0]);
    if (!known.includes(name))
      throw new TypeError(`A view of the kind "${view.kind}" has no picture "${name}"; known are ${known.join(", ")}.`);
    return name;
  };

  const skeleton = (host) => {
    const made = {
      bar: element("div", "fc-bar"),
      legend: element("div", "fc-legend"),
      hint: element("span", "fc-hint"),
      reset: element("button", "fc-reset", "Reset"),
      ramp: element("div", "fc-ramp"),
      plot: element("div", "fc-plot"),
      canvas: element("div", "fc-canvas"),
      box: element("div", "fc-box"),
      line: element("div", "fc-line"),
      rings: element("div", "fc-rings"),
      tip: element("div", "fc-tip"),
      empty: element("p", "fc-empty"),
      notes: element("div", "fc-notes"),
      live: element("p", "fc-live"),
      details: element("details", "fc-table"),
      table: element("div"),
    };
    made.legend.setAttribute("role", "group");
    made.legend.setAttribute("aria-label", "Legend");
    made.reset.type = "button";
    made.reset.title = "Reset the zoom (double-click, or 0)";
    made.plot.tabIndex = 0;
    made.plot.setAttribute("role", "application");
    made.plot.setAttribute("aria-roledescription", "picture");
    made.canvas.setAttribute("aria-hidden", "true");
    made.tip.setAttribute("aria-hidden", "true");
    made.live.setAttribute("aria-live", "polite");
    made.details.append(element("summary", "", "Show as a table"), made.table);
    made.hint.setAttribute("aria-hidden", "true");
    made.bar.append(made.legend, made.hint, made.reset);
    made.plot.append(made.canvas, made.rings, made.line, made.box, made.tip);
    host.replaceChildren(made.bar, made.ramp, made.plot, made.empty, made.notes, made.live, made.details);
    for (const name of ["box", "line", "tip", "reset", "ramp"]) made[name].hidden = true;
    return made;
  };

  class Chart {
    constructor(host, view, options) {
      this.name = pictureOf(view, options.picture);
      Object.assign(this, {
        host,
        view,
        options,
        hidden: new Set(),
        zoom: new Map(),
        brushes: new Map(),
        turn: { ...START },
        active: -1,
      });
      this.parts = skeleton(host);
      host.classList.add("flexibo-chart");
      this.stop = new AbortController();
      this.followsReader = !options.theme;
      const dark = window.matchMedia("(prefers-color-scheme: dark)");
      this.look = THEMES[options.theme ?? (dark.matches ? "dark" : "light")] ?? THEMES.light;
      dark.addEventListener("change", () => this.followsReader && this.paint(dark.matches ? "dark" : "light"), {
        signal: this.stop.signal,
      });
      this.listen();
      this.watch = new ResizeObserver(() => this.resize());
      this.watch.observe(this.parts.notes); // always present, and as wide as a chart may be
      this.render();
    }

    /** Draws the chart; if that fails, shows a message in its place. */
    render() {
      try {
        this.redraw();
      } catch (error) {
        console.error(error);
        this.fail();
      }
    }

    fail() {
      const { parts: shown } = this;
      this.chart?.dispose();
      this.chart = null;
      this.active = -1;
      this.picture = { empty: "This chart could not be drawn.", items: [], walk: [] };
      shown.empty.textContent = this.picture.empty;
      shown.empty.hidden = false;
      for (const name of ["bar", "ramp", "plot", "details"]) shown[name].hidden = true;
      shown.notes.replaceChildren();
    }

    redraw() {
      const { parts: shown, view, look } = this;
      this.host.dataset.theme = look.name;
      this.width = shown.notes.clientWidth;
      if (!this.width) return; // not visible: drawn once it has a size
      const remembered = this.picture?.items?.[this.active]?.key;
      const { hidden, turn, brushes, options, width } = this;
      this.picture = parts.pictures[this.name](view, { look, hidden, turn, brushes, options, width });
      const isEmpty = Boolean(this.picture.empty);
      shown.empty.textContent = this.picture.empty ?? "";
      shown.empty.hidden = !isEmpty;
      shown.plot.hidden = isEmpty || Boolean(this.picture.isTableOnly);
      shown.details.hidden = isEmpty || !this.picture.table;
      this.decorate();
      if (shown.plot.hidden) return this.point(-1);
      this.placed = layout(this.picture, width, this.zoom, look);
      shown.canvas.style.height = `${this.placed.height}px`;
      shown.plot.dataset.drag = this.picture.drag ?? "";
      shown.hint.textContent = HINTS[this.picture.drag] ?? "";
      this.chart ??= window.echarts.init(shown.canvas, null, { renderer: "canvas" });
      this.chart.resize({ width, height: this.placed.height });
      const still = { animation: false, backgroundColor: "transparent", tooltip: { show: false } };
      this.chart.setOption({ ...still, ...this.placed.option, series: this.picture.series }, { notMerge: true });
      this.point(remembered === undefined ? -1 : this.picture.items.findIndex((item) => item.key === remembered), {
        isQuiet: true,
      });
    }

    /** Everything around the chart: legend, notes, colour scale, description, table. */
    decorate() {
      const { parts: shown, picture, look } = this;
      around.legend(shown.legend, picture.legend ?? [], look, this.hidden, (key) => this.toggle(key));
      around.ramp(shown.ramp, picture.ramp);
      this.offerReset();
      const approximate =
        this.view.approximate && !picture.empty
          ? ["The models are fitted to a subset of the evaluations, because there are many."]
          : [];
      shown.notes.replaceChildren(
        ...[...(picture.notes ?? []), ...approximate].map((note) => element("p", "fc-note", note)),
      );
      const keys = picture.walk?.length ? " Arrow keys move from one to the next." : "";
      shown.plot.setAttribute("aria-label", `${picture.summary ?? ""}${keys}`);
      shown.details.classList.toggle("fc-alone", Boolean(picture.isTableOnly));
      if (picture.isTableOnly) shown.details.open = true;
      if (shown.details.open && picture.table) around.table(shown.table, picture.table());
      else shown.table.replaceChildren();
    }

    offerReset() {
      const { azimuth, elevation } = this.turn;
      const isTurned = azimuth !== START.azimuth || elevation !== START.elevation;
      this.parts.reset.hidden = !this.zoom.size && !this.brushes.size && !isTurned;
      this.parts.bar.hidden = !this.parts.legend.childElementCount && this.parts.reset.hidden;
    }

    toggle(key) {
      if (!this.hidden.delete(key)) this.hidden.add(key);
      this.render();
    }

    reset() {
      this.zoom.clear();
      this.brushes.clear();
      this.turn = { ...START };
      this.render();
    }

    /** Shows another part of a panel, but not far outside it. */
    show(panel, x, y) {
      const whole = this.picture.panels[panel];
      const isFar = [
        [whole.x, x],
        [whole.y, y],
      ].some(([axis, [low, high]]) => high - low > 4 * (axis.max - axis.min) || !(high > low));
      if (isFar) return;
      this.zoom.set(panel, { x, y });
      this.placed = layout(this.picture, this.width, this.zoom, this.look);
      this.chart.setOption(this.placed.option);
      this.offerReset();
      this.point(this.active, { isQuiet: true });
    }

    scale(panel, at, factor) {
      const [cx, cy] = placeAt(this.placed, panel, at);
      const { x, y } = this.placed.panels[panel];
      const part = (centre, axis) => [centre - (centre - axis.min) * factor, centre + (axis.max - centre) * factor];
      this.show(panel, part(cx, x), y.categories || y.isHidden ? [y.min, y.max] : part(cy, y));
    }

    isSeen(item) {
      return !item.isAside && !(item.legend && this.hidden.has(item.legend));
    }

    /** Describes an item; -1 is none. `at` is the position of the pointer, in pixels of the chart. */
    point(index, { at, isQuiet = false } = {}) {
      const { parts: shown } = this;
      const item = index >= 0 ? this.picture.items[index] : null;
      const isNew = index !== this.active;
      this.active = item && this.isSeen(item) ? index : -1;
      const marks =
        this.active < 0
          ? []
          : item.marks.filter((mark) => panelAt(this.placed, pixelOf(this.placed, mark), 1) === mark.panel);
      shown.tip.hidden = !marks.length;
      shown.rings.replaceChildren(...marks.map((mark) => this.ring(mark)));
      shown.line.hidden = !marks.length || this.picture.find !== "x";
      if (isNew && !isQuiet) this.options.onHover?.(this.active < 0 ? null : item.point);
      if (!marks.length) return;
      const described = item.tip();
      around.tip(shown.tip, described);
      const beside = this.picture.find === "line" || this.picture.find === "y" ? at : null;
      const panel = at ? panelAt(this.placed, at) : marks[0].panel;
      const mark = pixelOf(this.placed, marks.find((one) => one.panel === panel) ?? marks[0]);
      around.placeTip(shown.tip, beside ?? mark, this.width, this.placed.height);
      const { top, height } = this.placed.rects[marks[0].panel];
      Object.assign(shown.line.style, { transform: `translate(${mark[0]}px, ${top}px)`, height: `${height}px` });
      if (!at && !isQuiet) shown.live.textContent = around.spoken(described);
    }

    ring(mark) {
      const made = element("span", "fc-ring");
      const [x, y] = pixelOf(this.placed, mark);
      made.style.transform = `translate(${x}px, ${y}px)`;
      return made;
    }

    /** Moves to the next item, or to the previous one. */
    walk(step) {
      const order = this.picture.walk.filter(
        (i) => this.isSeen(this.picture.items[i]) && this.picture.items[i].marks.length,
      );
      if (!order.length) return;
      const here = order.indexOf(this.active);
      const next =
        step === "first"
          ? 0
          : step === "last"
            ? order.length - 1
            : here < 0
              ? step > 0
                ? 0
                : order.length - 1
              : here + step;
      this.point(order[(next + order.length) % order.length]);
    }

    rotate(across, up) {
      this.turn = {
        azimuth: this.turn.azimuth + across,
        elevation: Math.min(1.5, Math.max(0.05, this.turn.elevation + up)),
      };
      this.render();
    }

    /** Selects the lines that pass through the dragged box, on the axes inside it. */
    choose(from, to) {
      const [a, b] = [placeAt(this.placed, 0, from), placeAt(this.placed, 0, to)];
      const [left, right] = [Math.min(a[0], b[0]) - 0.15, Math.max(a[0], b[0]) + 0.15];
      for (let k = Math.max(0, Math.ceil(left)); k <= Math.min(right, this.view.axes.length - 1); k += 1) {
        this.brushes.set(k, [Math.min(a[1], b[1]), Math.max(a[1], b[1])]);
      }
      this.render();
    }

    listen() {
      parts.pointing.listen(this);
      const { signal } = this.stop;
      this.parts.reset.addEventListener(
        "click",
        () => {
          this.reset();
          this.parts.plot.focus();
        },
        { signal },
      );
      this.parts.details.addEventListener("toggle", () => this.picture && this.decorate(), { signal });
    }

    paint(theme) {
      this.look = THEMES[theme] ?? THEMES.light;
      this.render();
    }

    resize() {
      if (this.parts.notes.clientWidth !== this.width) this.render();
    }

    /** The position of an item of the view in the window, in pixels; null if it is not drawn. */
    pixel(index) {
      const mark = this.picture?.items?.[index]?.marks[0];
      if (!mark || !this.placed) return null;
      const [x, y] = pixelOf(this.placed, mark);
      const corner = this.parts.plot.getBoundingClientRect();
      return { x: corner.left + x, y: corner.top + y };
    }

    dispose() {
      this.stop.abort();
      this.watch.disconnect();
      this.chart?.dispose();
      this.host.replaceChildren();
      this.host.classList.remove("flexibo-chart");
    }
  }

  const draw = (host, view, options = {}) => {
    const chart = new Chart(host, view, options);
    return Object.freeze({
      update: (next) => {
        chart.name = pictureOf(next, options.picture);
        chart.view = next;
        chart.render();
      },
      resize: () => chart.render(),
      setTheme: (theme) => {
        chart.followsReader = false;
        chart.paint(theme);
      },
      pixel: (index) => chart.pixel(index),
      dispose: () => chart.dispose(),
    });
  };

  window.flexiboCharts = Object.freeze({
    draw,
    digitsOf: parts.text.digitsOf,
    pictures: Object.freeze(
      Object.fromEntries(Object.entries(KINDS).map(([kind, names]) => [kind, Object.freeze(names)])),
    ),
  });
})();
