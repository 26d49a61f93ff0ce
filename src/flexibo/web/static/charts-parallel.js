"use strict";
// Parallel coordinates: a vertical axis for every option and objective, and a line across them for every design.
(() => {
  const { parts } = window.flexiboCharts;
  const { short, drawable, number, digitsOf, count } = parts.text;
  const { valued, categorical, ticksOf, usable } = parts.axes;
  const { KINDS, kindOf, isFront, shapes, FONT } = parts.looks;

  const ORDER = Object.keys(KINDS);

  const axisOf = (view, k) => {
    const { type, label, categories, log } = view.axes[k];
    const values = view.lines.map((line) => line.values[k]);
    return type === "category"
      ? categorical({ label, categories: categories ?? [...new Set(values)] })
      : valued({ label, values, log, margin: 0, whole: values.every((one) => one === null || Number.isInteger(one)) });
  };

  // From 0 at the bottom to 1 at the top.
  const heightOf = (axis, at) => (at - axis.min) / (axis.max - axis.min);

  // The end of an axis, with enough digits to differ from the ticks near it.
  const endText = (axis, end) => {
    if (axis.log) return number(10 ** end, 3);
    const places = Math.ceil(-Math.log10((axis.max - axis.min) / 200));
    const digits = Math.floor(Math.log10(Math.abs(end))) + 1 + places;
    return digits > 0 ? number(end, Math.min(12, digits)) : "0";
  };

  // The ends of an axis are labelled too; ticks too near to an end are left out.
  const withEnds = (axis, { at, texts }) => {
    if (axis.categories) return { at, texts };
    const room = 0.07 * (axis.max - axis.min);
    const inner = at.map((_, i) => i).filter((i) => at[i] > axis.min + room && at[i] < axis.max - room);
    return {
      at: [axis.min, ...inner.map((i) => at[i]), axis.max],
      texts: [endText(axis, axis.min), ...inner.map((i) => texts[i]), endText(axis, axis.max)],
    };
  };

  const writing = (x, y, text, style) => ({ type: "text", x, y, style: { text: drawable(text), ...style } });

  /** The ticks of a vertical axis at x, from the bottom to the top of the chart. */
  const tickShapes = (axis, x, [bottom, top], limit, isLast, look) => {
    const { at, texts } = withEnds(axis, ticksOf(axis, 5, limit));
    const style = { fill: look.soft, font: `11px ${FONT}`, verticalAlign: "middle", stroke: look.paper, lineWidth: 3 };
    return at.flatMap((tick, i) => {
      const y = bottom + (top - bottom) * heightOf(axis, tick);
      return [
        { type: "line", shape: { x1: x - 3, x2: x + 3, y1: y, y2: y }, style: { stroke: look.axis, lineWidth: 1 } },
        writing(isLast ? x - 6 : x + 6, y, texts[i], { ...style, align: isLast ? "right" : "left" }),
      ];
    });
  };

  /** The vertical axes with ticks and names; if there is little room, every second name is higher. */
  const axisLines = (view, axes, look, width) => {
    const limit = Math.max(4, Math.floor(width / axes.length / 8.5));
    const isTight = limit < 12;
    const last = axes.length - 1;
    const verticalAxis = (k, coord) => {
      const [x, bottom] = coord(k, 0);
      const [, top] = coord(k, 1);
      const isObjective = view.axes[k].role === "objective";
      const [align, shift] = k === 0 ? ["left", -10] : k === last ? ["right", 10] : ["center", 0];
      const style = {
        align,
        verticalAlign: "bottom",
        fill: look.ink,
        font: `${isObjective ? "600 " : ""}12px ${FONT}`,
      };
      const name = short(view.axes[k].label, isTight ? 2 * limit : limit);
      const stroke = isObjective ? { stroke: look.ink, lineWidth: 1.8 } : { stroke: look.axis, lineWidth: 1.2 };
      return {
        type: "group",
        children: [
          { type: "line", shape: { x1: x, x2: x, y1: bottom, y2: top }, style: stroke },
          ...tickShapes(axes[k], x, [bottom, top], limit, k === last, look),
          writing(x + shift, top - 12 - (isTight && k % 2 ? 16 : 0), name, style),
        ],
      };
    };
    return shapes(0, axes.length, 6, verticalAxis, false);
  };

  const DASHES = { "front-promising": [6, 3], half: [6, 3], "front-violating": [2, 3], violating: [2, 3] };
  const dashOf = (kind) => (Object.hasOwn(DASHES, kind) ? DASHES[kind] : undefined);

  const strokeOf = (kind, look, many) => ({
    stroke: look[kindOf(kind).colour],
    lineWidth: isFront(kind) ? 1.9 : 1,
    opacity: isFront(kind) ? 0.9 : Math.max(0.12, Math.min(0.5, 60 / many)),
    lineDash: dashOf(kind),
  });

  /** The designs as lines, those of the front over the others. */
  const lineSeries = (view, heights, seen, look) => {
    const rank = (kind) => (ORDER.length + ORDER.indexOf(kind) + 1) % (ORDER.length + 1);
    const kinds = [...new Set(seen.map((i) => view.lines[i].kind))].sort((a, b) => rank(b) - rank(a));
    return shapes(0, kinds.length, 3, (n, coord, room) => {
      const mine = seen.filter((i) => view.lines[i].kind === kinds[n]);
      const lines = mine.map((i) => heights[i].flatMap((height, k) => (usable(height) ? [coord(k, height)] : [])));
      return { type: "flexiboLines", shape: { lines, room, look: strokeOf(kinds[n], look, seen.length) } };
    });
  };

  const rangeSeries = (brushes, look) =>
    shapes(0, brushes.size, 2, (i, coord) => {
      const [k, [low, high]] = [...brushes][i];
      const [x, bottom] = coord(k, low);
      const [, top] = coord(k, high);
      const style = { fill: look.region, opacity: 0.45 };
      return { type: "rect", shape: { x: x - 7, y: top, width: 14, height: bottom - top }, style };
    });

  const foundDigits = new WeakMap();

  /** The number of digits that distinguishes the values on each axis. */
  const digitsIn = (view) => {
    const onAxis = (k) => digitsOf(view.lines.map((line) => line.values[k]));
    if (!foundDigits.has(view)) foundDigits.set(view, view.axes.map((_, k) => onAxis(k)));
    return foundDigits.get(view);
  };

  const cellOf = (view, k, value) =>
    view.axes[k].role === "objective" && usable(value) ? number(value, digitsIn(view)[k]) : value;

  const tipOf = (view, line) => ({
    title: kindOf(line.kind).label,
    notes: [],
    groups: ["objective", "option"].map((role) =>
      view.axes.flatMap((axis, k) => {
        if (axis.role !== role) return [];
        const value = line.values[k];
        const said = role === "objective" ? number(value, digitsIn(view)[k]) : short(value, 36);
        return [{ name: short(axis.label, 28), value: said }];
      }),
    ),
  });

  const tableOf = (view) => ({
    caption: "Designs, those of the front first",
    head: ["kind", ...view.axes.map((axis) => axis.label)],
    rows: [...view.lines]
      .sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))
      .map((line) => [kindOf(line.kind).label, ...line.values.map((value, k) => cellOf(view, k, value))]),
    note: "",
  });

  const legendOf = (view, look) =>
    ORDER.map((kind) => ({ kind, many: view.lines.filter((line) => line.kind === kind).length }))
      .filter(({ many }) => many)
      .map(({ kind, many }) => ({
        key: kind,
        label: kindOf(kind).label,
        count: many,
        style: { colour: look[kindOf(kind).colour], dash: dashOf(kind) ?? "solid", width: isFront(kind) ? 2 : 1.2 },
      }));

  const notesOf = (view, many, hasRanges) => {
    const chosen = `${count(many, "design")} of ${number(view.lines.length, 7)} in the selected ranges.`;
    const notes = [hasRanges ? chosen : "Drag along an axis to select a range."];
    if (view.left_out) notes.push(`${count(view.left_out, "dominated design")} farther from the front not drawn.`);
    return notes;
  };

  const parallel = (view, { look, hidden, width, brushes }) => {
    if (!view.lines.length || view.axes.length < 2) return { empty: "No designs to show yet." };
    const axes = view.axes.map((_, k) => axisOf(view, k));
    const heights = view.lines.map((line) =>
      line.values.map((value, k) => heightOf(axes[k], axes[k].at(value ?? NaN))),
    );
    const kept = heights.map((row) => [...brushes].every(([k, [low, high]]) => row[k] >= low && row[k] <= high));
    const seen = view.lines.map((_, i) => i).filter((i) => kept[i] && !hidden.has(view.lines[i].kind));
    const items = view.lines.map((line, i) => ({
      key: JSON.stringify(line.values),
      legend: line.kind,
      point: line,
      isFirst: isFront(line.kind),
      isAside: !kept[i],
      marks: heights[i].flatMap((height, k) => (usable(height) ? [{ panel: 0, x: k, y: height }] : [])),
      tip: () => tipOf(view, line),
    }));
    const bare = { label: "", at: (value) => value, isHidden: true };
    const fronts = items.filter((item) => item.isFirst).length;
    return {
      panels: [{ x: { ...bare, min: -0.12, max: axes.length - 0.88 }, y: { ...bare, min: -0.04, max: 1 } }],
      columns: 1,
      panelHeight: 400,
      space: { top: 54, left: 16, right: 16, bottom: 12 },
      items,
      find: "line",
      drag: "brush",
      walk: items.map((_, i) => i).filter((i) => items[i].isFirst && kept[i]),
      series: [lineSeries(view, heights, seen, look), rangeSeries(brushes, look), axisLines(view, axes, look, width)],
      legend: legendOf(view, look),
      summary:
        `Parallel coordinates of ${view.axes.length} options and objectives: ` +
        `${count(view.lines.length, "design")}, ${fronts} of them on the front.`,
      table: () => tableOf(view),
      notes: notesOf(view, kept.filter(Boolean).length, brushes.size > 0),
    };
  };

  parts.pictures.parallel = parallel;
})();
