"use strict";
// Bars: the cost of every objective, and the importance of every option.
(() => {
  const { parts } = window.flexiboCharts;
  const { short, number, MOST_DIGITS, percent, count, unit } = parts.text;
  const { valued, categorical, usable } = parts.axes;
  const { nth, shapes } = parts.looks;
  const { own } = parts.fronts;

  const MOST_OPTIONS = 30;

  /** Horizontal bars: [{place, thick, from, to, style}]; places and thicknesses are shares of a category. */
  const bars = (list) =>
    shapes(0, list.length, 3, (i, coord) => {
      const { place, thick, from, to, style } = list[i];
      const [x1, y1] = coord(from, place - thick / 2);
      const [x2, y2] = coord(to, place + thick / 2);
      const [width, height] = [Math.max(1, Math.abs(x2 - x1)), Math.abs(y2 - y1)];
      return { type: "rect", shape: { x: Math.min(x1, x2), y: Math.min(y1, y2), width, height }, style };
    });

  const filled = (colour) => ({ fill: colour });
  const outlined = (colour) => ({ fill: colour, fillOpacity: 0.12, stroke: colour, lineWidth: 1.4, lineDash: [4, 3] });

  /** A vertical axis of names. */
  const namedPlaces = (names) => ({
    ...categorical({ label: "", categories: names.map((_, i) => i), vertical: true }),
    shown: names,
    every: true,
  });

  const unitIn = (view) => (unit(view.cost_label) ? ` [${short(unit(view.cost_label), 12)}]` : "");
  const grows = (row) => row.projected > 1.001 * row.spent;

  const spendingBars = (rows, { look, hidden }) =>
    rows.flatMap((row, j) => {
      const { colour } = nth(look, j);
      const bar = { place: j, thick: 0.56 };
      const made = [{ ...bar, from: 0, to: row.spent, style: filled(colour) }];
      if (row.lost > 0 && !hidden.has("lost")) {
        made.push({ place: j, thick: 0.2, from: row.spent - row.lost, to: row.spent, style: filled(look.paper) });
      }
      if (grows(row) && !hidden.has("projected")) {
        made.push({ ...bar, from: row.spent, to: row.projected, style: outlined(colour) });
      }
      return made;
    });

  const spendingTip = (row, cost) => ({
    title: short(row.name, 40),
    groups: [
      [
        { name: `spent${cost}`, value: `${number(row.spent)} (${percent(row.share)})` },
        { name: `lost to failures${cost}`, value: number(row.lost, 3) },
        { name: `projected to the end of the budget${cost}`, value: number(row.projected) },
      ],
      [
        { name: "measured", value: number(row.evaluations, 7) },
        { name: "failed attempts", value: number(row.failed, 7) },
        { name: `mean cost${cost}`, value: number(row.mean_cost, 3) },
      ],
    ],
    notes: [],
  });

  const spendingLegend = (rows, look) => {
    const made = [{ key: "spent", label: "spent", style: { area: 1, colour: look.soft }, isFixed: true }];
    if (rows.some(grows)) {
      const style = { area: 0.12, edge: [4, 3], colour: look.soft };
      made.push({ key: "projected", label: "projected to the end of the budget", style });
    }
    if (rows.some((row) => row.lost > 0)) {
      const style = { area: 1, colour: look.soft, notch: look.paper };
      made.push({ key: "lost", label: "lost to failures", style });
    }
    return made;
  };

  const spendingTable = (rows, cost) => ({
    caption: "Spending on each objective",
    head: [
      "objective",
      "measured",
      "failed attempts",
      ...["spent", "lost", "mean cost", "projected"].map((name) => name + cost),
      "share",
    ],
    rows: rows.map((row) => [
      row.name,
      row.evaluations,
      row.failed,
      ...[row.spent, row.lost, row.mean_cost, row.projected].map((value) => number(value)),
      percent(row.share),
    ]),
    note: "",
  });

  const spending = (view, context) => {
    const rows = view.objectives;
    if (!rows.some((row) => row.evaluations || row.failed)) return { empty: "Nothing has been spent yet." };
    const cost = unitIn(view);
    const ends = rows.flatMap((row) => [row.spent, context.hidden.has("projected") ? 0 : row.projected]);
    const paid = (amount, digits) => `${number(amount, digits)} ${short(unit(view.cost_label), 12)}`.trim();
    const budget = usable(view.budget) ? ` of a budget of ${paid(view.budget, MOST_DIGITS)}` : "";
    const reserved = view.reserved > 0 ? `; ${paid(view.reserved)} reserved for evaluations in progress` : "";
    const said = rows.map((row) => `${short(row.name, 40)} ${number(row.spent)} (${percent(row.share)})`).join(", ");
    return {
      panels: [
        {
          x: valued({ label: short(view.cost_label, 48), values: ends, zero: true, margin: 0.03 }),
          y: namedPlaces(rows.map((row) => row.name)),
        },
      ],
      columns: 1,
      panelHeight: 74 + 46 * rows.length,
      find: "y",
      items: rows.map((row, j) => ({
        key: row.name,
        point: { objective: row.name },
        marks: [{ panel: 0, x: row.spent, y: j }],
        tip: () => spendingTip(row, cost),
      })),
      walk: rows.map((_, j) => j),
      series: [bars(spendingBars(rows, context))],
      legend: spendingLegend(rows, context.look),
      summary: `Spending on each objective${cost}: ${paid(view.spent)}${budget}${reserved}; ${said}.`,
      table: () => spendingTable(rows, cost),
      notes: [`Spent ${paid(view.spent)}${budget}${reserved}.`],
    };
  };

  const shareOf = (view, which, axis, option) => own(own(view[which], axis.name), option);
  const weightOf = (view, option) =>
    Math.max(
      0,
      ...view.axes.map((axis) => shareOf(view, "total", axis, option) ?? shareOf(view, "main", axis, option) ?? 0),
    );

  const importanceBars = (view, options, { look, hidden }) => {
    const seen = view.axes.map((axis, j) => ({ axis, j })).filter(({ axis }) => !hidden.has(`objective:${axis.name}`));
    const room = 0.76 / Math.max(1, seen.length);
    return options.flatMap((option, i) =>
      seen.flatMap(({ axis, j }, k) => {
        const { colour } = nth(look, j);
        const bar = { place: i - 0.38 + room * (k + 0.5), thick: room * 0.82 };
        const [main, total] = ["main", "total"].map(
          (which) => 100 * Math.max(0, shareOf(view, which, axis, option) ?? 0),
        );
        const alone = { ...bar, from: 0, to: main, style: filled(colour) };
        const isMore = total > main && !hidden.has("total");
        return isMore ? [alone, { ...bar, from: main, to: total, style: outlined(colour) }] : [alone];
      }),
    );
  };

  const importanceTip = (view, option) => ({
    title: short(option, 40),
    notes: [],
    groups: [
      view.axes.map((axis) => ({
        name: short(axis.label, 32),
        value: percent(shareOf(view, "main", axis, option)),
        note: `with interactions ${percent(shareOf(view, "total", axis, option))}`,
      })),
    ],
  });

  const mostImportant = (view, axis) => {
    const total = (option) => shareOf(view, "total", axis, option) ?? 0;
    const best = view.options.reduce((a, b) => (total(b) > total(a) ? b : a));
    return `${short(axis.name, 40)} depends most on ${short(best, 40)} (${percent(total(best))})`;
  };

  const importanceTable = (view, options) => ({
    caption: "Importance of the options: alone, and with interactions",
    head: ["option", ...view.axes.flatMap((axis) => [axis.name, `${axis.name}, with interactions`])],
    rows: options.map((option) => [
      option,
      ...view.axes.flatMap((axis) => ["main", "total"].map((which) => percent(shareOf(view, which, axis, option)))),
    ]),
    note: "",
  });

  const importance = (view, context) => {
    const isKnown = view.axes.some((axis) =>
      view.options.some((option) => usable(shareOf(view, "main", axis, option))),
    );
    if (!isKnown) return { empty: "The importance of the options is not known yet: there are too few measurements." };
    const options = [...view.options].sort((a, b) => weightOf(view, b) - weightOf(view, a)).slice(0, MOST_OPTIONS);
    const ends = options.map((option) => 100 * weightOf(view, option));
    const left = view.options.length - options.length;
    const objectives = view.axes.map((axis, j) => ({
      key: `objective:${axis.name}`,
      label: short(axis.name, 32),
      style: { area: 1, colour: nth(context.look, j).colour },
    }));
    const together = { area: 0.12, edge: [4, 3], colour: context.look.soft };
    return {
      panels: [
        {
          x: valued({
            label: "share of the variance [%]",
            values: [1, ...ends],
            zero: true,
            margin: 0.03,
          }),
          y: namedPlaces(options),
        },
      ],
      columns: 1,
      panelHeight: 74 + options.length * Math.max(30, 15 * view.axes.length + 12),
      find: "y",
      items: options.map((option, i) => ({
        key: option,
        point: { option },
        marks: [{ panel: 0, x: ends[i], y: i }],
        tip: () => importanceTip(view, option),
      })),
      walk: options.map((_, i) => i),
      series: [bars(importanceBars(view, options, context))],
      legend: [...objectives, { key: "total", label: "with interactions", style: together }],
      summary:
        `Importance of ${count(view.options.length, "option")}: ` +
        `${view.axes.map((axis) => mostImportant(view, axis)).join("; ")}.`,
      table: () => importanceTable(view, options),
      notes: left > 0 ? [`${count(left, "less important option")} not drawn.`] : [],
    };
  };

  Object.assign(parts.pictures, { spending, importance });
})();
