"use strict";
// Charts against cost.
(() => {
  const { parts } = window.flexiboCharts;
  const { short, number, MOST_DIGITS, count, unit } = parts.text;
  const { valued, usable, bounds } = parts.axes;
  const { nth, dots, line, shapes, rule } = parts.looks;
  const { own } = parts.fronts;

  const WIDE = 15; // positive values that span more than this factor are drawn on a logarithmic axis

  const isWide = (values) => {
    const [low, high] = bounds(values.filter(usable)) ?? [0, 0];
    return low > 0 && high > WIDE * low;
  };

  const column = (view, name) => own(view.rows, name) ?? [];
  const unitIn = (view) => (unit(view.cost_label) ? ` [${short(unit(view.cost_label), 12)}]` : "");

  /** The cost of the initial designs, as a band in the background. */
  const initialBand = (end, look) =>
    shapes(0, 1, 0, (_, coord, room) => {
      const [left, right] = [coord(0, 0)[0], coord(end, 0)[0]];
      const shape = { x: left, y: room.y, width: right - left, height: room.height };
      return { type: "rect", shape, style: { fill: look.soft, opacity: 0.1 } };
    });

  /** The initial designs and the budget, which every chart against cost shows. */
  const surroundings = (view, { look, hidden }) => {
    const end = column(view, "spent")[column(view, "initial").lastIndexOf(true)];
    const found = [];
    if (usable(end)) {
      const style = { area: 0.2, colour: look.soft };
      found.push({ key: "initial", label: "initial designs", style, series: initialBand(end, look) });
    }
    if (usable(view.budget)) {
      const style = { dash: [3, 3], colour: look.bound };
      found.push({
        key: "budget",
        label: `budget of ${number(view.budget, MOST_DIGITS)} ${short(unit(view.cost_label), 12)}`.trim(),
        style,
        series: rule(0, view.budget, true, style),
      });
    }
    return {
      series: found.filter(({ key }) => !hidden.has(key)).map(({ series }) => series),
      legend: found.map(({ key, label, style }) => ({ key, label, style })),
    };
  };

  const spentAxis = (view, { hidden }) => {
    const keep = hidden.has("budget") ? [] : [view.budget];
    return valued({ label: short(view.cost_label, 48), values: column(view, "spent"), zero: true, keep, margin: 0.03 });
  };

  const tipOf = (view, i, rows) => {
    const state = column(view, "failed")[i] ? " (failed)" : column(view, "initial")[i] ? " (initial design)" : "";
    const costs = [
      { name: `spent so far${unitIn(view)}`, value: number(column(view, "spent")[i]) },
      { name: `cost of this one${unitIn(view)}`, value: number(column(view, "cost")[i], 3) },
    ];
    const title = `evaluation ${column(view, "number")[i]}: ${short(column(view, "objective")[i], 32)}${state}`;
    return { title, groups: [rows, costs], notes: [] };
  };

  const tableOf = (view, lines) => ({
    caption: "Evaluations, latest first",
    head: ["number", "objective", view.cost_label, ...lines.map((one) => one.label)],
    rows: column(view, "number")
      .map((name, i) => [
        name,
        column(view, "objective")[i],
        column(view, "spent")[i],
        ...lines.map((one) => one.values[i]),
      ])
      .reverse(),
    note: view.thinned ? "Some evaluations are left out; the totals are exact." : "",
  });

  const numbered = (view, i) => ({
    key: String(column(view, "number")[i]),
    point: { number: column(view, "number")[i] },
  });
  const walkOf = (items) => items.map((_, i) => i).filter((i) => items[i].marks.length);

  const lineItems = (view, lines, seen, y, why) =>
    column(view, "spent").map((cost, i) => ({
      ...numbered(view, i),
      marks: seen.map((one) => ({ panel: 0, x: cost, y: y.at(one.values[i] ?? NaN) })).filter((mark) => usable(mark.y)),
      tip: () => {
        const rows = lines.map((one) => ({ name: short(one.label, 32), value: number(one.values[i]) }));
        const note = why ? column(view, why)[i] : null;
        return { ...tipOf(view, i, rows), notes: note ? [short(note, 300)] : [] };
      },
    }));

  /** Triangles where a line rises for a reason that the view says. */
  const explained = (view, { look, hidden }, lines, y, why) => {
    const style = { colour: look.predicted, shape: "triangle", size: 9, z: 6 };
    const places = column(view, "spent")
      .map((cost, i) => [cost, y.at(lines[0]?.values[i] ?? NaN), column(view, why)[i]])
      .filter(([cost, height, reason]) => reason && usable(cost) && usable(height));
    if (!places.length) return { series: [], legend: [] };
    const marks = places.map(([cost, height]) => [cost, height]);
    return {
      series: hidden.has("rise") ? [] : [dots(0, marks, style, look)],
      legend: [{ key: "rise", label: "it grew: point at it to see why", style, count: places.length }],
    };
  };

  /** Crosses on the lines of objectives where attempts failed. */
  const failedAttempts = (view, { look, hidden }, lines, y) => {
    const style = { colour: look.failed, shape: "cross", size: 9 };
    const places = lines.flatMap((one) =>
      column(view, "spent")
        .map((cost, i) => [cost, y.at(one.values[i] ?? NaN), i])
        .filter(([, , i]) => column(view, "failed")[i] && one.key === `objective:${column(view, "objective")[i]}`)
        .map(([cost, height]) => [cost, height])
        .filter((place) => place.every(usable)),
    );
    if (!places.length && !hidden.has("failed")) return { series: [], legend: [] };
    return {
      series: hidden.has("failed") ? [] : [dots(0, places, style, look)],
      legend: [{ key: "failed", label: "failed attempt", style }],
    };
  };

  const nothingYet = (view) =>
    view.known_results
      ? `${count(view.known_results, "result")} known from before; nothing was measured here yet.`
      : "There are no measurements yet.";

  /** The mark where a course begins that known results have paid. */
  const knownResults = (view, { look }) => ({
    key: "known",
    label: count(view.known_results, "known result"),
    style: { colour: look.series[0], shape: "circle", size: 9, z: 6 },
  });

  /** Lines against cost: [{key, label, values, style}]; a `begin` is where they are before anything is spent. */
  const overCost = (view, context, { label, lines, what, lack, begin, whole = false, failures = false, why = "" }) => {
    const spent = column(view, "spent");
    const known = begin ? knownResults(view, context) : null;
    if (!known && !lines.some((one) => one.values.some(usable)))
      return { empty: spent.length && lack ? lack : nothingYet(view) };
    const seen = lines.filter((one) => !context.hidden.has(one.key));
    const values = [...(seen.length ? seen : lines).flatMap((one) => one.values), ...(known ? [begin] : [])];
    const log = isWide(values) && !whole;
    const y = valued({ label, values, zero: !log, log, whole });
    const around = surroundings(view, context);
    const start = known ? [[0, y.at(begin)]] : [];
    const placed = (one) => [
      ...start,
      ...spent.map((cost, i) => [cost, y.at(one.values[i] ?? NaN)]).filter((place) => place.every(usable)),
    ];
    const items = lineItems(view, lines, seen, y, why);
    const rises = why ? explained(view, context, seen, y, why) : { series: [], legend: [] };
    const last = lines
      .map((one) => `${short(one.label, 40)} ${number(one.values.findLast(usable) ?? begin)}`)
      .join(", ");
    const named = lines.map(({ key, label: name, style }) => ({ key, label: short(name, 32), style }));
    const failed = failures ? failedAttempts(view, context, seen, y) : { series: [], legend: [] };
    return {
      panels: [{ x: spentAxis(view, context), y }],
      columns: 1,
      panelHeight: 320,
      items,
      find: "x",
      drag: "zoom",
      walk: walkOf(items),
      series: [
        ...around.series,
        ...seen.map((one) => line(0, placed(one), { ...one.style, step: true })),
        ...failed.series,
        ...rises.series,
        ...(known && !context.hidden.has(known.key) ? [dots(0, start, known.style, context.look)] : []),
      ],
      legend: [
        ...(lines.length > 1 ? named : []),
        ...failed.legend,
        ...rises.legend,
        ...(known ? [known] : []),
        ...around.legend,
      ],
      summary: `${what} over ${short(view.cost_label, 40)}: after ${number(spent.at(-1) ?? 0)}, ${last}.`,
      table: () => tableOf(view, lines),
      notes: [],
    };
  };

  const volumeUnitIn = (view) => (view.volume_unit ? ` [${short(view.volume_unit, 24)}]` : "");

  const volume = (name, what, label, lack, why) => (view, context) => {
    const style = { colour: context.look.series[0], dash: "solid", width: 2.4 };
    return overCost(view, context, {
      what,
      lack,
      why,
      begin: name === "hypervolume" ? view.known_hypervolume : 0,
      label: `${label}${volumeUnitIn(view)}`,
      lines: [{ key: name, label: what, values: column(view, name), style }],
    });
  };

  const perObjective = (record, what, labelIn, whole) => (view, context) => {
    const lines = view.objectives.map((name, j) => {
      const { colour, dash } = nth(context.look, j);
      return { key: `objective:${name}`, label: name, values: own(view[record], name) ?? [], style: { colour, dash } };
    });
    return overCost(view, context, { what, whole, lines, label: labelIn(view), failures: whole });
  };

  const gainItems = (view, gains, at) =>
    gains.map((gain, i) => ({
      ...numbered(view, i),
      legend: `objective:${column(view, "objective")[i]}`,
      marks: at(i).every(usable) ? [{ panel: 0, x: at(i)[0], y: at(i)[1] }] : [],
      tip: () => {
        const whole = { name: "expected gain", value: number(column(view, "gain")[i]) };
        return tipOf(view, i, [whole, { name: "gain per cost", value: number(gain) }]);
      },
    }));

  const gains = (view, context) => {
    const found = column(view, "gain_per_cost");
    if (!found.some(usable)) return { empty: "No evaluation was chosen by its gain yet." };
    const positive = found.map((value) => (value > 0 ? value : null));
    const log = isWide(positive);
    const per = short(unit(view.cost_label) || "unit of cost", 12);
    const label = `expected gain per cost [${short(view.volume_unit || "volume", 24)} per ${per}]`;
    const y = valued({ label, values: log ? positive : found, log, zero: !log });
    const at = (i) => [column(view, "spent")[i], y.at(found[i] ?? NaN)];
    const items = gainItems(view, found, at);
    const around = surroundings(view, context);
    const named = view.objectives.map((name, j) => {
      const { colour, shape } = nth(context.look, j);
      return { key: `objective:${name}`, label: short(name, 32), style: { colour, shape, size: 8, opacity: 0.85 } };
    });
    const series = named
      .filter(({ key }) => !context.hidden.has(key))
      .map(({ key, style }) => {
        const mine = items.filter((item) => item.legend === key && item.marks.length);
        return dots(
          0,
          mine.map(({ marks: [mark] }) => [mark.x, mark.y]),
          style,
          context.look,
        );
      });
    const left = log ? found.filter((value) => usable(value) && value <= 0).length : 0;
    const many = count(found.filter(usable).length, "choice");
    return {
      panels: [{ x: spentAxis(view, context), y }],
      columns: 1,
      panelHeight: 320,
      items,
      drag: "zoom",
      walk: walkOf(items),
      series: [...around.series, ...series],
      legend: [...named, ...around.legend],
      summary: `Expected gain per cost of ${many} over ${short(view.cost_label, 40)}.`,
      table: () => tableOf(view, [{ label: "gain per cost", values: found }]),
      notes: left ? [`${count(left, "choice")} without an expected gain not drawn.`] : [],
    };
  };

  Object.assign(parts.pictures, {
    hypervolume: volume("hypervolume", "Hypervolume", "hypervolume", "No design is measured in every objective yet."),
    region: volume(
      "region_volume",
      "Pareto region",
      "Pareto region",
      "No evaluation was chosen by the Pareto region yet.",
      "rise",
    ),
    evaluations: perObjective("evaluations", "Evaluations of each objective", () => "number of evaluations", true),
    spend: perObjective("costs", "Cost of each objective", (view) => `cost of each objective${unitIn(view)}`, false),
    gains,
  });
})();
