"use strict";
// The front of a study: two objectives with the Pareto region, or a panel for every pair of several.
(() => {
  const { parts } = window.flexiboCharts;
  const { count } = parts.text;
  const { valued, usable } = parts.axes;
  const { FONT, styleOf, isFront, dots, shapes, rule } = parts.looks;
  const {
    own,
    valueOf,
    labelOf,
    boundText,
    tableOf,
    summaryOf,
    leftOut,
    byKind,
    kindLegend,
    itemsOf,
    walkOf,
    isEmpty,
    chosenAxes,
  } = parts.fronts;

  const REGION =
    "If every value is within its box, the true front lies in the Pareto region, between the optimistic front " +
    "(solid) and the pessimistic front (dashed). The boxes are those of the models: seldom are all of them right.";
  const MOST_PANELS = 10;
  const MOST_FAINT_BARS = 60;

  // The corners of the region that a front attains, from its best first value to the reference (both minimised).
  const staircase = (rows, reference, signs) => {
    const worst = reference.map((value, j) => signs[j] * value);
    const losses = rows.map((row) => row.map((value, j) => signs[j] * value));
    const inside = losses.filter(([x, y]) => x < worst[0] && y < worst[1]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const corners = [];
    let best = worst[1];
    for (const [x, y] of inside) {
      if (y >= best) continue;
      corners.push([x, best], [x, y]);
      best = y;
    }
    corners.push([worst[0], best]);
    return corners.map((corner) => corner.map((value, j) => signs[j] * value));
  };

  // Infinite values are drawn far outside.
  const within = (axis, value) => {
    const far = 20 * (axis.max - axis.min);
    return Math.min(axis.max + far, Math.max(axis.min - far, axis.at(value)));
  };

  const regionSeries = (panel, index, region, shown, look) => {
    const signs = shown.map((axis) => (axis.direction === "max" ? -1 : 1));
    const [upper, lower] = [region.optimistic, region.pessimistic].map((rows) =>
      staircase(rows, region.reference, signs),
    );
    const placed = (coord, corners) => corners.map(([x, y]) => coord(within(panel.x, x), within(panel.y, y)));
    const edge = (corners, dash) =>
      shapes(index, 1, 1, (_, coord) => ({
        type: "polyline",
        shape: { points: placed(coord, corners) },
        style: { stroke: look.region, lineWidth: 1.6, fill: "none", lineDash: dash },
      }));
    const area = shapes(index, 1, 0, (_, coord) => ({
      type: "polygon",
      shape: { points: placed(coord, [...upper, ...[...lower].reverse()]) },
      style: { fill: look.region, opacity: look.name === "dark" ? 0.25 : 0.28 },
    }));
    return [area, edge(upper, undefined), edge(lower, [5, 4])];
  };

  /** Error bars of one standard deviation, as far as values are possible. */
  const errorBars = (panel, index, shown, points, style) =>
    shapes(index, points.length, style.z - 1, (i, coord) => {
      const centre = shown.map((axis) => valueOf(points[i], axis));
      const middle = coord(within(panel.x, centre[0]), within(panel.y, centre[1]));
      const children = [];
      shown.forEach((axis, j) => {
        const deviation = own(points[i].deviations, axis.name);
        if (!(deviation > 0)) return;
        const ends = [-1, 1].map((side) => {
          const end = Math.min(Math.max(centre[j] + side * deviation, axis.least ?? -Infinity), axis.most ?? Infinity);
          const moved = centre.map((value, k) => (k === j ? end : value));
          return coord(within(panel.x, moved[0]), within(panel.y, moved[1]));
        });
        const bar = (a, b) => ({
          type: "line",
          shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] },
          style: { stroke: style.colour, lineWidth: style.bar ?? 1.3, opacity: style.opacity ?? 0.85 },
        });
        children.push(bar(ends[0], ends[1]));
        for (const end of ends) {
          const cap =
            j === 0
              ? [
                  [end[0], middle[1] - 3],
                  [end[0], middle[1] + 3],
                ]
              : [
                  [middle[0] - 3, end[1]],
                  [middle[0] + 3, end[1]],
                ];
          children.push(bar(cap[0], cap[1]));
        }
      });
      return { type: "group", children };
    });

  const panelOf = (view, shown) => {
    const [x, y] = shown.map((axis) => {
      if (!axis) return { label: "", at: () => 0, min: -1, max: 1, isHidden: true };
      const values = view.points.map((point) => valueOf(point, axis));
      return valued({ label: labelOf(axis), values, log: axis.log, whole: axis.whole, keep: [axis.bound] });
    });
    return { x, y };
  };

  const placeOf = (point, panel, shown) => [
    panel.x.at(valueOf(point, shown[0])),
    shown[1] ? panel.y.at(valueOf(point, shown[1])) : 0,
  ];

  /** The region in the order of the axes shown; null if they are not the two optimised ones. */
  const regionOf = (view, shown) => {
    const optimised = view.axes.filter((axis) => axis.optimise);
    const order = shown.map((axis) => optimised.indexOf(axis));
    if (!view.region || optimised.length !== 2 || order.includes(-1)) return null;
    const turned = (rows) => rows.map((row) => order.map((j) => row[j]));
    const { optimistic, pessimistic, reference } = view.region;
    return { optimistic: turned(optimistic), pessimistic: turned(pessimistic), reference: turned([reference])[0] };
  };

  const boundSeries = (panel, index, shown, { look, hidden }) =>
    shown.flatMap((axis, j) => {
      if (!axis || !usable(axis.bound) || hidden.has(`bound:${axis.name}`)) return [];
      const at = within(j === 0 ? panel.x : panel.y, axis.bound);
      return [rule(index, at, j === 0, { colour: look.bound, dash: [3, 3], width: 1.5 })];
    });

  const kindSeries = (kind, all, panel, index, shown, look) => {
    const style = styleOf(kind, look);
    const points = all.filter((point) => placeOf(point, panel, shown).every(usable));
    const uncertain = points.filter((point) => shown.some((axis) => axis && own(point.deviations, axis.name) > 0));
    const places = points.map((point) => placeOf(point, panel, shown));
    const hasBars = shown.every(Boolean) && (isFront(kind) || uncertain.length <= MOST_FAINT_BARS);
    const barStyle = isFront(kind) ? style : { ...style, bar: 1, opacity: 0.45 };
    return [
      ...(hasBars ? [errorBars(panel, index, shown, uncertain, barStyle)] : []),
      dots(index, places, style, look),
    ];
  };

  /** The numbers of the designs as in the tables, beside their marks; one that would cover another is left out. */
  const numberSeries = (view, panel, index, shown, { look, hidden }) => {
    const numbered = view.points.filter((point) => point.number > 0 && !hidden.has(point.kind));
    const places = numbered.map((point) => placeOf(point, panel, shown));
    return shapes(index, 1, 9, (_, coord, room) => {
      const taken = [];
      const children = numbered.flatMap((point, i) => {
        if (!places[i].every(usable)) return [];
        const [x, y] = coord(...places[i]);
        const [left, top, width] = [x + 6, y - 16, 7 * String(point.number).length];
        const isInside = x >= room.x && y >= room.y && left + width <= room.x + room.width && y <= room.y + room.height;
        const isFree = taken.every(
          (box) => Math.abs(box.left - left) > Math.max(box.width, width) || Math.abs(box.top - top) > 11,
        );
        if (!isInside || !isFree) return [];
        taken.push({ left, top, width });
        const paint = { fill: look.soft, stroke: look.paper, lineWidth: 3, font: `11px ${FONT}` };
        return [{ type: "text", style: { text: String(point.number), x: left, y: top, ...paint } }];
      });
      return { type: "group", children };
    });
  };

  const panelSeries = (view, panel, index, shown, context) => {
    const { look, hidden } = context;
    const region = hidden.has("region") ? null : regionOf(view, shown);
    const kinds = [...byKind(view)].filter(([kind]) => !hidden.has(kind));
    return [
      ...(region ? regionSeries(panel, index, region, shown, look) : []),
      ...boundSeries(panel, index, shown, context),
      ...kinds.flatMap(([kind, points]) => kindSeries(kind, points, panel, index, shown, look)),
      numberSeries(view, panel, index, shown, context),
    ];
  };

  const legendOf = (view, pairs, { look }) => {
    const entries = kindLegend(view, look);
    if (pairs.some((shown) => regionOf(view, shown))) {
      entries.push({ key: "region", label: "Pareto region", style: { area: 0.3, edge: [4, 3], colour: look.region } });
    }
    for (const axis of new Set(pairs.flat())) {
      if (!axis || !usable(axis.bound)) continue;
      entries.push({ key: `bound:${axis.name}`, label: boundText(axis), style: { dash: [3, 3], colour: look.bound } });
    }
    return entries;
  };

  const drawn = (view, pairs, context) => {
    const panels = pairs.map((shown) => panelOf(view, shown));
    const items = itemsOf(view, (point) =>
      pairs.flatMap((shown, panel) => {
        const [x, y] = placeOf(point, panels[panel], shown);
        return usable(x) && usable(y) ? [{ panel, x, y }] : [];
      }),
    );
    const axes = [...new Set(pairs.flat())].filter(Boolean);
    return {
      panels,
      items,
      walk: walkOf(items, axes[0]),
      drag: "zoom",
      series: pairs.flatMap((shown, index) => panelSeries(view, panels[index], index, shown, context)),
      legend: legendOf(view, pairs, context),
      summary: summaryOf(view, axes),
      table: () => tableOf(view),
      notes: [
        ...(pairs.some((shown) => regionOf(view, shown)) ? [REGION] : []),
        ...leftOut(view),
        ...(view.sentence ? [view.sentence] : []),
      ],
    };
  };

  const front = (view, context) => {
    if (isEmpty(view)) return { empty: isEmpty(view) };
    const [first, second] = chosenAxes(view, context.options.axes);
    return { ...drawn(view, [[first, second]], context), columns: 1, panelHeight: second ? 420 : 200 };
  };

  const pairs = (view, context) => {
    if (isEmpty(view)) return { empty: isEmpty(view) };
    const optimised = view.axes.filter((axis) => axis.optimise);
    const axes = optimised.length > 2 ? optimised : chosenAxes(view);
    if (axes.length < 3) return front(view, context);
    const all = axes.flatMap((a, i) => axes.slice(i + 1).map((b) => [a, b]));
    const shown = all.slice(0, MOST_PANELS);
    const made = drawn(view, shown, context);
    if (all.length > shown.length) made.notes.push(`${count(all.length - shown.length, "further pair")} not drawn.`);
    const columns = Math.max(1, Math.min(3, shown.length, Math.floor(context.width / 280)));
    return { ...made, columns, panelHeight: 290 };
  };

  Object.assign(parts.pictures, { front, pairs });
})();
