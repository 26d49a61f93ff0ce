"use strict";
// Mouse, touch and keyboard: tooltips, zoom, rotation, selection.
(() => {
  const { parts } = window.flexiboCharts;
  const { itemAt, panelAt, placeAt } = parts.layout;

  const STEADY = 4; // smaller movements in pixels are not a drag
  const FLAT = 12; // a box narrower than this many pixels zooms one axis only

  const placeOf = (plot, event) => {
    const corner = plot.getBoundingClientRect();
    return [event.clientX - corner.left, event.clientY - corner.top];
  };

  /** The nearest point inside a panel. */
  const inside = (chart, panel, [px, py]) => {
    const { left, top, width, height } = chart.placed.rects[panel];
    return [Math.min(left + width, Math.max(left, px)), Math.min(top + height, Math.max(top, py))];
  };

  const rectangle = ([ax, ay], [bx, by]) => ({
    left: Math.min(ax, bx),
    top: Math.min(ay, by),
    width: Math.abs(ax - bx),
    height: Math.abs(ay - by),
  });

  const drawBox = (box, from, to) => {
    const { left, top, width, height } = rectangle(from, to);
    box.hidden = false;
    box.style.transform = `translate(${left}px, ${top}px)`;
    box.style.width = `${width}px`;
    box.style.height = `${height}px`;
  };

  const zoomInto = (chart, panel, from, to) => {
    const [a, b] = [placeAt(chart.placed, panel, from), placeAt(chart.placed, panel, to)];
    const { x, y } = chart.placed.panels[panel];
    const { width, height } = rectangle(from, to);
    const range = (j, axis, size) =>
      axis.isHidden || size < FLAT ? [axis.min, axis.max] : [Math.min(a[j], b[j]), Math.max(a[j], b[j])];
    chart.show(panel, range(0, x, width), range(1, y, height));
  };

  const describeAt = (chart, at) => {
    const index = itemAt(chart.picture, chart.placed, at, (item) => chart.isSeen(item));
    chart.point(index, { at });
  };

  const click = (chart) => {
    if (chart.active >= 0) chart.options.onClick?.(chart.picture.items[chart.active].point);
  };

  /** Describes the item under the pointer, once per frame. */
  const hovering = (chart) => {
    const { plot } = chart.parts;
    const { signal } = chart.stop;
    let waiting = null;
    const look = () => {
      const at = waiting;
      waiting = null;
      if (at && !plot.hidden && !signal.aborted) describeAt(chart, at);
    };
    const leave = (event) => {
      if (chart.drag?.isOwn || event.pointerType === "touch") return;
      waiting = null;
      chart.point(-1);
    };
    plot.addEventListener("pointerleave", leave, { signal });
    plot.addEventListener("blur", () => chart.point(-1), { signal });
    return (at) => {
      if (!waiting) requestAnimationFrame(look);
      waiting = at;
    };
  };

  const begin = (chart, event) => {
    if (event.button !== 0 || !event.isPrimary) return;
    const { plot } = chart.parts;
    const from = placeOf(plot, event);
    const panel = panelAt(chart.placed, from);
    const kind = panel < 0 ? undefined : chart.picture.drag;
    // Touch scrolls the page; only a chart that can be rotated is dragged.
    const isOwn = Boolean(kind) && (event.pointerType !== "touch" || kind === "turn");
    const start = panel < 0 ? from : inside(chart, panel, from);
    chart.drag = { id: event.pointerId, from: start, last: from, panel, kind, isOwn, hasMoved: false };
    if (isOwn) plot.setPointerCapture(event.pointerId);
  };

  const move = (chart, at) => {
    const { drag } = chart;
    drag.hasMoved ||= Math.hypot(at[0] - drag.from[0], at[1] - drag.from[1]) > STEADY;
    if (!drag.isOwn || !drag.hasMoved) return;
    chart.point(-1);
    if (drag.kind === "turn") chart.rotate((at[0] - drag.last[0]) / 140, (at[1] - drag.last[1]) / 220);
    else drawBox(chart.parts.box, drag.from, inside(chart, drag.panel, at));
    drag.last = at;
  };

  const end = (chart, at) => {
    const { from, panel, kind, isOwn, hasMoved } = chart.drag;
    giveUp(chart);
    if (!hasMoved) {
      describeAt(chart, at);
      click(chart);
    } else if (isOwn && kind === "zoom") zoomInto(chart, panel, from, inside(chart, panel, at));
    else if (isOwn && kind === "brush") chart.choose(from, inside(chart, panel, at));
  };

  const giveUp = (chart) => {
    chart.drag = null;
    chart.parts.box.hidden = true;
  };

  const listenToPointer = (chart) => {
    const { plot } = chart.parts;
    const { signal } = chart.stop;
    const hover = hovering(chart);
    const isDragged = (event) => chart.drag && event.pointerId === chart.drag.id;
    const moved = (event) => {
      const at = placeOf(plot, event);
      if (isDragged(event)) move(chart, at);
      else hover(at);
    };
    plot.addEventListener("pointerdown", (event) => begin(chart, event), { signal });
    plot.addEventListener("pointermove", moved, { signal });
    plot.addEventListener("pointerup", (event) => isDragged(event) && end(chart, placeOf(plot, event)), { signal });
    plot.addEventListener("pointercancel", () => giveUp(chart), { signal });
    plot.addEventListener("dblclick", () => chart.reset(), { signal });
  };

  /** The wheel scrolls the page, unless the chart has the focus. */
  const listenToWheel = (chart) => {
    const { plot } = chart.parts;
    const { signal } = chart.stop;
    let turned = 0; // since the last frame: a large study is drawn once for many wheel events
    const zoom = (panel, at) => {
      const factor = Math.exp(Math.max(-1.5, Math.min(1.5, turned / 400)));
      turned = 0;
      if (!signal.aborted && !plot.hidden && chart.placed.rects[panel]) chart.scale(panel, at, factor);
    };
    const wheel = (event) => {
      const isMeant = chart.picture.drag === "zoom" && document.activeElement === plot;
      const at = placeOf(plot, event);
      const panel = isMeant ? panelAt(chart.placed, at, 0) : -1;
      if (panel < 0) return;
      event.preventDefault();
      if (!turned && event.deltaY) requestAnimationFrame(() => zoom(panel, at));
      turned += event.deltaY;
    };
    plot.addEventListener("wheel", wheel, { signal, passive: false });
  };

  const TURNS = { ArrowRight: [0.15, 0], ArrowLeft: [-0.15, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };

  const zoomAll = (chart, factor) => {
    if (chart.picture.drag !== "zoom") return;
    chart.placed.rects.forEach(({ left, top, width, height }, panel) =>
      chart.scale(panel, [left + width / 2, top + height / 2], factor),
    );
  };

  const KEYS = {
    ArrowRight: (chart) => chart.walk(1),
    ArrowDown: (chart) => chart.walk(1),
    ArrowLeft: (chart) => chart.walk(-1),
    ArrowUp: (chart) => chart.walk(-1),
    Home: (chart) => chart.walk("first"),
    End: (chart) => chart.walk("last"),
    Escape: (chart) => chart.point(-1),
    Enter: click,
    "+": (chart) => zoomAll(chart, 0.8),
    "-": (chart) => zoomAll(chart, 1.25),
    0: (chart) => chart.reset(),
  };

  const listenToKeys = (chart) => {
    const press = (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const isTurn = event.shiftKey && chart.picture.drag === "turn" && Object.hasOwn(TURNS, event.key);
      if (!isTurn && !Object.hasOwn(KEYS, event.key)) return;
      event.preventDefault();
      if (isTurn) chart.rotate(...TURNS[event.key]);
      else KEYS[event.key](chart);
    };
    chart.parts.plot.addEventListener("keydown", press, { signal: chart.stop.signal });
  };

  /** Connects a chart to mouse, touch and keyboard. */
  const listen = (chart) => {
    listenToPointer(chart);
    listenToWheel(chart);
    listenToKeys(chart);
  };

  parts.pointing = { listen };
})();
