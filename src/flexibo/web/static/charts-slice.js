"use strict";
// A slice of the prediction: an objective over one option, or over two as a colour map.
(() => {
  const { parts } = window.flexiboCharts;
  const { short, number, digitsOf, amount, count } = parts.text;
  const { valued, categorical, usable } = parts.axes;
  const { dots, line, shapes } = parts.looks;
  const { labelOf } = parts.fronts;

  const UNKNOWN = "No prediction yet: this objective has not been measured.";
  const MEASURED = "measured (fainter: other options differ more)";
  // From dark blue to yellow in steps of equal brightness: for colour-blind people, and in black and white.
  const RAMP = [
    [0, 34, 78],
    [35, 62, 108],
    [87, 93, 109],
    [124, 123, 120],
    [166, 157, 117],
    [211, 193, 100],
    [254, 232, 56],
  ];

  const rampAt = (share) => {
    const place = Math.min(1, Math.max(0, share)) * (RAMP.length - 1);
    const i = Math.min(RAMP.length - 2, Math.floor(place));
    const mixed = RAMP[i].map((from, c) => Math.round(from + (place - i) * (RAMP[i + 1][c] - from)));
    return `rgb(${mixed.join(",")})`;
  };

  const optionAxis = ({ name, type, values, log }, margin) =>
    type === "category"
      ? categorical({ label: short(name, 40), categories: values })
      : valued({ label: short(name, 40), values, log, margin, whole: values.every(Number.isInteger) });

  /** The ends of the cell of each value on its axis. */
  const cells = (axis, values) => {
    const at = values.map((value) => axis.at(value));
    if (axis.categories || at.length < 2) return at.map((place) => [place - 0.5, place + 0.5]);
    const last = at.length - 1;
    const between = (i) => (at[i] + at[i + 1]) / 2;
    const begin = (i) => (i === 0 ? at[0] - (at[1] - at[0]) / 2 : between(i - 1));
    const end = (i) => (i === last ? at[last] + (at[last] - at[last - 1]) / 2 : between(i));
    return at.map((_, i) => [begin(i), end(i)]);
  };
  const aroundCells = (axis, edges) => (axis.categories ? axis : { ...axis, min: edges[0][0], max: edges.at(-1)[1] });

  // Designs far from the slice are fainter.
  const nearness = (one) => 1 - 0.75 * Math.min(1, Math.max(0, one.distance ?? 0));

  const fixedOptions = (view) => {
    const rest = Object.entries(view.at ?? {}).filter(([name]) => name !== view.x.name && name !== view.y?.name);
    const said = rest.slice(0, 8).map(([name, value]) => `${short(name, 20)} ${short(value, 20)}`);
    if (rest.length > 8) said.push(count(rest.length - 8, "further option"));
    return rest.length ? [`With ${said.join(", ")}.`] : [];
  };

  const digitsIn = (view) => digitsOf(view.measured.map((one) => one.value));
  const predicted = (view, mean, deviation) => ({
    name: "predicted",
    value: amount(mean, deviation, digitsIn(view)),
  });
  const titled = (view, ...groups) => ({ title: short(view.axis.label, 40), notes: [], groups });
  const optionRow = ({ name }, value) => ({ name: short(name, 28), value: short(value, 36) });

  const summaryOf = (view, values, many) => {
    const known = values.filter(usable);
    const over = [view.x, view.y].filter(Boolean).map(({ name }) => short(name, 40));
    const ends = [Math.min(...known), Math.max(...known)].map((end) => number(end, digitsIn(view)));
    const range = `from ${ends.join(" to ")}`;
    const measured = count(many, "measured design");
    return `Prediction of ${labelOf(view.axis)} over ${over.join(" and ")}: ${range}; ${measured}.`;
  };

  /** Two standard deviations on both sides, as far as possible values go: a band, or a box for each category. */
  const bandSeries = (at, ends, isBoxed, colour) =>
    shapes(0, isBoxed ? at.length : 1, 1, (i, coord) => {
      if (isBoxed) {
        const [[left, top], [right, bottom]] = [coord(at[i][0] - 0.12, ends[i][1]), coord(at[i][0] + 0.12, ends[i][0])];
        const shape = { x: left, y: top, width: right - left, height: bottom - top };
        return { type: "rect", shape, style: { fill: colour, opacity: 0.22 } };
      }
      const upper = at.map(([place], k) => coord(place, ends[k][1]));
      const lower = at.map(([place], k) => coord(place, ends[k][0]));
      return {
        type: "polygon",
        shape: { points: [...upper, ...lower.reverse()] },
        style: { fill: colour, opacity: 0.2 },
      };
    });

  const spotSeries = (spots, look) =>
    shapes(0, spots.length, 6, (k, coord) => {
      const [cx, cy] = coord(...spots[k].at);
      const style = { fill: look.ink, stroke: look.paper, lineWidth: 1, opacity: spots[k].opacity };
      return { type: "circle", shape: { cx, cy, r: 4 }, style };
    });

  const curveLegend = (isBoxed, colour, hasSpots, look) => [
    {
      key: "mean",
      label: "predicted",
      style: isBoxed ? { shape: "diamond", size: 12, colour } : { dash: "solid", colour },
      isFixed: true,
    },
    { key: "band", label: "two standard deviations", style: { area: 0.3, colour } },
    ...(hasSpots ? [{ key: "measured", label: MEASURED, style: { shape: "circle", size: 8, colour: look.ink } }] : []),
  ];

  const curve = (view, { look, hidden }) => {
    const [[mean], [deviation]] = [view.mean, view.deviation];
    if (!mean?.some(usable)) return { empty: UNKNOWN };
    const colour = look.series[0];
    const edges = mean.map((value, i) => [view.low[0][i] ?? value, view.high[0][i] ?? value]);
    const x = optionAxis(view.x, 0.02);
    const values = [...edges.flat(), ...view.measured.map((one) => one.value)];
    const y = valued({ label: labelOf(view.axis), values, log: view.axis.log, keep: [view.axis.bound] });
    const at = mean.map((value, i) => [x.at(view.x.values[i]), y.at(value)]);
    const ends = edges.map((pair) => pair.map(y.at));
    const isBoxed = Boolean(x.categories);
    const spots = view.measured
      .map((one) => ({ at: [x.at(one.x), y.at(one.value)], opacity: nearness(one) }))
      .filter((spot) => spot.at.every(usable));
    const middle = isBoxed
      ? dots(0, at, { shape: "diamond", size: 12, colour, z: 4 }, look)
      : line(0, at, { colour, width: 2.2 });
    return {
      panels: [{ x, y }],
      columns: 1,
      panelHeight: 320,
      find: "x",
      drag: "zoom",
      items: mean.map((value, i) => ({
        key: String(i),
        point: { x: view.x.values[i] },
        marks: at[i].every(usable) ? [{ panel: 0, x: at[i][0], y: at[i][1] }] : [],
        tip: () => titled(view, [optionRow(view.x, view.x.values[i]), predicted(view, value, deviation[i])]),
      })),
      walk: mean.map((_, i) => i),
      series: [
        ...(hidden.has("band") ? [] : [bandSeries(at, ends, isBoxed, colour)]),
        middle,
        ...(hidden.has("measured") ? [] : [spotSeries(spots, look)]),
      ],
      legend: curveLegend(isBoxed, colour, spots.length > 0, look),
      summary: summaryOf(view, mean, spots.length),
      table: () => ({
        caption: "Predictions",
        head: [view.x.name, "predicted", "deviation"],
        rows: mean.map((value, i) => [view.x.values[i], value, deviation[i]]),
        note: "",
      }),
      notes: fixedOptions(view),
    };
  };

  const cellSeries = (list, edges, colour) =>
    shapes(0, list.length, 1, (k, coord) => {
      const { value, i, j } = list[k];
      const [x1, y1] = coord(edges[0][i][0], edges[1][j][0]);
      const [x2, y2] = coord(edges[0][i][1], edges[1][j][1]);
      // Whole pixels: no gaps between cells.
      const [left, top] = [Math.floor(Math.min(x1, x2)), Math.floor(Math.min(y1, y2))];
      const [right, bottom] = [Math.ceil(Math.max(x1, x2)), Math.ceil(Math.max(y1, y2))];
      return {
        type: "rect",
        shape: { x: left, y: top, width: right - left, height: bottom - top },
        style: { fill: colour(value) },
      };
    });

  const markSeries = (spots, colour) =>
    shapes(0, spots.length, 4, (k, coord) => {
      const { x, y, one } = spots[k];
      const [[cx, cy], opacity] = [coord(x, y), nearness(one)];
      const ring = { fill: colour(one.value), stroke: "#fff", lineWidth: 1.6, opacity };
      return {
        type: "group",
        children: [
          { type: "circle", shape: { cx, cy, r: 6 }, style: { fill: "#000", opacity } },
          { type: "circle", shape: { cx, cy, r: 5 }, style: ring },
        ],
      };
    });

  const mapItems = (view, spots, list, x, y) => [
    ...spots.map(({ one, ...place }, k) => ({
      key: `measured:${k}`,
      legend: "measured",
      point: one,
      isFirst: true,
      marks: [{ panel: 0, ...place }],
      tip: () =>
        titled(
          view,
          [optionRow(view.x, one.x), optionRow(view.y, one.y)],
          [{ name: "measured", value: number(one.value, digitsIn(view)) }],
        ),
    })),
    ...list.map(({ value, i, j }) => {
      const [across, up] = [view.x.values[i], view.y.values[j]];
      const said = () => predicted(view, value, view.deviation[j]?.[i]);
      return {
        key: `${i}:${j}`,
        point: { x: across, y: up },
        marks: [{ panel: 0, x: x.at(across), y: y.at(up) }],
        tip: () => titled(view, [optionRow(view.x, across), optionRow(view.y, up)], [said()]),
      };
    }),
  ];

  const map = (view, { look, hidden }) => {
    const list = view.mean
      .flatMap((row, j) => row.map((value, i) => ({ value, i, j })))
      .filter(({ value }) => usable(value));
    if (!list.length) return { empty: UNKNOWN };
    const values = list.map(({ value }) => value);
    const tone = valued({ label: "", values, log: view.axis.log, margin: 0 });
    const colour = (value) => rampAt((tone.at(value) - tone.min) / (tone.max - tone.min));
    const bare = [view.x, view.y].map((option) => optionAxis(option, 0));
    const edges = [cells(bare[0], view.x.values), cells(bare[1], view.y.values)];
    const [x, y] = bare.map((axis, j) => aroundCells(axis, edges[j]));
    const spots = view.measured
      .map((one) => ({ one, x: x.at(one.x), y: y.at(one.y) }))
      .filter((spot) => usable(spot.x) && usable(spot.y));
    const items = mapItems(view, spots, list, x, y);
    const said = (end) => number(tone.log ? 10 ** end : end, digitsIn(view));
    const style = { shape: "circle", size: 10, hollow: true, colour: look.ink };
    return {
      panels: [{ x, y }],
      columns: 1,
      panelHeight: 400,
      find: "cell",
      items,
      walk: items.map((_, i) => i),
      series: [cellSeries(list, edges, colour), ...(hidden.has("measured") ? [] : [markSeries(spots, colour)])],
      legend: spots.length ? [{ key: "measured", label: MEASURED, style }] : [],
      ramp: {
        label: labelOf(view.axis),
        from: said(tone.min),
        to: said(tone.max),
        colours: RAMP.map((_, i) => rampAt(i / (RAMP.length - 1))),
      },
      summary: summaryOf(view, values, spots.length),
      table: () => ({
        caption: "Predictions",
        head: [view.x.name, view.y.name, "predicted", "deviation"],
        rows: list.map(({ value, i, j }) => [view.x.values[i], view.y.values[j], value, view.deviation[j]?.[i]]),
        note: "",
      }),
      notes: fixedOptions(view),
    };
  };

  parts.pictures.slice = (view, context) => (view.y ? map : curve)(view, context);
})();
