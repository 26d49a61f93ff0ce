"use strict";
// Styles: the colours of Okabe and Ito, which colour-blind people can distinguish, symbols and dashes that differ too,
// and the elements of charts.
(() => {
  const { parts } = window.flexiboCharts;
  const { CORNERS } = parts.symbols;
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

  const THEMES = {
    light: {
      name: "light",
      paper: "#ffffff",
      ink: "#16191d",
      soft: "#565e68",
      rule: "#e6e9ee",
      axis: "#8d96a1",
      faint: "#8f969e",
      region: "#56B4E9",
      predicted: "#D55E00",
      doubtful: "#CC79A7",
      bound: "#B8578F",
      failed: "#B22222",
      series: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#16191d"],
    },
    dark: {
      name: "dark",
      paper: "#16191d",
      ink: "#f0f2f4",
      soft: "#a7b0ba",
      rule: "#272c33",
      axis: "#6b747e",
      faint: "#858e98",
      region: "#56B4E9",
      predicted: "#F07A1F",
      doubtful: "#CC79A7",
      bound: "#E39CC4",
      failed: "#FF6B5E",
      series: ["#56B4E9", "#E69F00", "#2BB88F", "#CC79A7", "#F07A1F", "#F0E442", "#f0f2f4"],
    },
  };

  const SERIES_SHAPES = ["circle", "square", "triangle", "diamond", "plus", "star", "cross"];
  const DASHES = ["solid", [8, 4], [2, 3], [10, 3, 2, 3], [14, 4], [6, 2, 2, 2, 2, 2], [4, 4]];

  // The kinds of designs, in the order of the legend; `z` is the order of drawing.
  const KINDS = {
    "front-confirmed": { label: "confirmed", shape: "circle", size: 11, colour: "ink", z: 8 },
    "front-promising": {
      label: "promising, not measured yet",
      shape: "diamond",
      size: 13,
      colour: "predicted",
      hollow: true,
      z: 7,
    },
    "front-unsure": {
      label: "promising, perhaps not feasible",
      shape: "square",
      size: 12,
      colour: "doubtful",
      hollow: true,
      z: 6,
    },
    "front-violating": { label: "front, violates a constraint", shape: "cross", size: 13, colour: "soft", z: 5 },
    measured: { label: "measured, dominated", shape: "circle", size: 6, colour: "faint", z: 4 },
    half: { label: "partly predicted, not promising", shape: "diamond", size: 9, colour: "faint", hollow: true, z: 3 },
    violating: { label: "violates a constraint", shape: "cross", size: 8, colour: "faint", z: 3 },
    failed: { label: "failed, partly predicted", shape: "cross", size: 9, colour: "failed", z: 3 },
  };
  const kindOf = (name) => (Object.hasOwn(KINDS, name) ? KINDS[name] : { ...KINDS.measured, label: name });
  const styleOf = (kind, look) => ({ ...kindOf(kind), colour: look[kindOf(kind).colour] });
  const isFront = (kind) => kind.startsWith("front");

  /** The style of the j-th objective. */
  const nth = (look, j) => ({
    colour: look.series[j % look.series.length],
    shape: SERIES_SHAPES[j % SERIES_SHAPES.length],
    dash: DASHES[j % DASHES.length],
  });

  const painted = ({ colour, size, hollow }, look) =>
    hollow
      ? { fill: look.paper, stroke: colour, lineWidth: size > 10 ? 2 : 1.3 }
      : { fill: colour, stroke: look.paper, lineWidth: size > 8 ? 1 : 0 };

  /** Identical symbols at points of a grid: [[x, y], ...]. */
  const dots = (grid, data, style, look) =>
    shapes(grid, 1, style.z ?? 4, (_, coord, room) => {
      const isInside = ([x, y]) =>
        x >= room.x - 1 && x <= room.x + room.width + 1 && y >= room.y - 1 && y <= room.y + room.height + 1;
      const places = data.map(([x, y]) => coord(x, y)).filter(isInside);
      const symbol = {
        form: style.shape,
        radius: style.size / 2,
        opacity: style.opacity ?? 1,
        ...painted(style, look),
      };
      return { type: "flexiboSymbols", shape: { places, room, symbol }, style: { fill: style.colour } };
    });

  /** A line through points of a grid; `step` draws steps. */
  const line = (grid, data, style) => ({
    type: "line",
    xAxisIndex: grid,
    yAxisIndex: grid,
    data,
    silent: true,
    z: style.z ?? 4,
    clip: true,
    symbol: "none",
    step: style.step ? "end" : false,
    lineStyle: {
      color: style.colour,
      width: style.width ?? 2,
      type: style.dash ?? "solid",
      opacity: style.opacity ?? 1,
    },
  });

  /** Shapes made by a function from positions on the screen: `shape(i, coord, room)` for each of `count`. */
  const shapes = (grid, count, z, shape, clip = true) => ({
    type: "custom",
    xAxisIndex: grid,
    yAxisIndex: grid,
    silent: true,
    z,
    clip,
    data: Array.from({ length: count }, (_, i) => i),
    encode: { x: -1, y: -1 },
    renderItem: (params, api) => shape(params.dataIndex, (x, y) => api.coord([x, y]), params.coordSys),
  });

  /** A straight line across a grid, at a value of one of its axes. */
  const rule = (grid, at, isUpright, style, z = 2) =>
    shapes(grid, 1, z, (_, coord, room) => {
      const [x, y] = isUpright ? coord(at, 0) : coord(0, at);
      const ends = isUpright
        ? { x1: x, x2: x, y1: room.y, y2: room.y + room.height }
        : { x1: room.x, x2: room.x + room.width, y1: y, y2: y };
      return {
        type: "line",
        shape: ends,
        style: { stroke: style.colour, lineWidth: style.width ?? 1.3, lineDash: style.dash },
      };
    });

  const brush = document.createElement("canvas").getContext("2d");

  /** The width of a text in pixels, for a font size in pixels. */
  const widthOf = (text, size, weight = "") => {
    brush.font = `${weight} ${size}px ${FONT}`;
    return brush.measureText(text).width;
  };

  const svg = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  const dashed = (dash) => (Array.isArray(dash) ? { "stroke-dasharray": dash.join(" ") } : {});

  const symbolOf = (style, look) => {
    const radius = Math.min(6, (style.size ?? 10) / 2);
    const paint = style.hollow
      ? { fill: look.paper, stroke: style.colour, "stroke-width": 1.3 }
      : { fill: style.colour };
    const corners = CORNERS[style.shape];
    if (!corners) return svg("circle", { cx: 12, cy: 7, r: radius, ...paint });
    const points = corners.map((corner, i) => (i % 2 ? 7 : 12) + radius * corner);
    return svg("polygon", { points: points.join(" "), ...paint });
  };

  /** A small sample of a style, for a legend. */
  const swatch = (style, look) => {
    const made = svg("svg", { viewBox: "0 0 24 14", width: 24, height: 14, "aria-hidden": "true", focusable: "false" });
    if (style.area)
      made.append(svg("rect", { x: 1, y: 2, width: 22, height: 10, fill: style.colour, "fill-opacity": style.area }));
    if (style.notch) made.append(svg("rect", { x: 10, y: 5, width: 13, height: 4, fill: style.notch }));
    if (style.edge)
      made.append(
        svg("rect", {
          x: 1,
          y: 2,
          width: 22,
          height: 10,
          fill: "none",
          stroke: style.colour,
          "stroke-width": 1.4,
          ...dashed(style.edge),
        }),
      );
    if (style.dash)
      made.append(
        svg("line", {
          x1: 0,
          x2: 24,
          y1: 7,
          y2: 7,
          stroke: style.colour,
          "stroke-width": style.width ?? 2,
          ...dashed(style.dash),
        }),
      );
    if (style.shape) made.append(symbolOf(style, look));
    return made;
  };

  parts.looks = { FONT, THEMES, KINDS, kindOf, styleOf, isFront, nth, dots, line, shapes, rule, swatch, widthOf };
})();
