"use strict";
// Texts and tables about designs, shared by all charts that draw designs.
(() => {
  const { parts } = window.flexiboCharts;
  const { short, number, digitsOf, MOST_DIGITS, amount, percent, count, unit } = parts.text;
  const { usable } = parts.axes;
  const { KINDS, kindOf, styleOf, isFront } = parts.looks;

  const own = (record, name) => (record && Object.hasOwn(record, name) ? record[name] : undefined);
  const valueOf = (point, axis) => own(point.values, axis.name);

  const better = (axis) =>
    axis.optimise ? (axis.direction === "max" ? "higher is better" : "lower is better") : "constraint";
  const labelOf = (axis) => `${short(axis.label, 48)} (${better(axis)})`;

  const foundDigits = new WeakMap();

  /** The number of digits that distinguishes the measured values of each objective, by name. */
  const digitsIn = (view) => {
    if (!foundDigits.has(view)) {
      const measured = (axis) => view.points.filter((point) => own(point.measured, axis.name) === true);
      const digits = (axis) => digitsOf(measured(axis).map((point) => valueOf(point, axis)));
      foundDigits.set(view, new Map(view.axes.map((axis) => [axis.name, digits(axis)])));
    }
    return foundDigits.get(view);
  };

  const amountOf = (view, point, axis) =>
    amount(valueOf(point, axis), own(point.deviations, axis.name), digitsIn(view).get(axis.name));

  /** The bound of an objective as text. */
  const boundText = (axis) => {
    const bound = `${axis.bound_side ?? "within"} ${number(axis.bound, MOST_DIGITS)}`;
    return `${short(axis.name, 24)} ${bound} ${short(axis.unit ?? "", 12)}`.trim();
  };

  const breaks = (axis, value) =>
    usable(axis.bound) && usable(value) && (axis.bound_side === "at least" ? value < axis.bound : value > axis.bound);

  /** The bounds that designs violate, as text. */
  const violated = (view, points) => {
    const broken = view.axes.filter((axis) => points.some((point) => breaks(axis, valueOf(point, axis))));
    const isMeasured = points.every((point) => view.axes.every((axis) => own(point.measured, axis.name) === true));
    return `${isMeasured ? "measured, " : ""}violates ${broken.map(boundText).join(" or ") || "a constraint"}`;
  };

  /** How confident the models are that a design is on the front; no text for "probable". */
  const STANDINGS = {
    confident: "Confident: on the front for all values within the confidence intervals.",
    possible: "Possible: it may be on the front, but the predicted means say otherwise.",
  };

  /** Where a value comes from: a reading, several with the estimate of the model, or the model alone. */
  const sourceOf = (view, point, axis) => {
    if (own(point.measured, axis.name) !== true) return "predicted";
    const estimate = own(point.estimates, axis.name);
    const times = own(point.readings, axis.name);
    const readings = times > 1 ? `mean of ${times} readings` : "measured";
    const isExact = !usable(estimate) || estimate === valueOf(point, axis);
    return isExact ? readings : `${readings}, model ${number(estimate, digitsIn(view).get(axis.name))}`;
  };

  const isMeasured = (view, point) => view.axes.every((axis) => own(point.measured, axis.name) === true);

  /** What distinguishes a confirmed design: the objectives in which it is the best, and the knee. */
  const marksIn = (point) => [
    ...(point.best ?? []).map((name) => `Best ${short(name, 24)} of the confirmed designs.`),
    ...(point.knee ? ["The knee of the front: the best compromise."] : []),
  ];

  /** What confirming a promising design is expected to give, and how likely it is that it can be measured. */
  const prospectsOf = (point) => [
    ...(usable(point.relative_gain)
      ? [`Expected to add ${percent(point.relative_gain)} to the hypervolume of the confirmed front.`]
      : []),
    ...(point.kind === "front-promising" || point.kind === "front-unsure"
      ? [`Can be measured with probability ${percent(point.chance ?? 1)}.`]
      : []),
  ];

  /** The tooltip of a design. */
  const tipOf = (view, point) => {
    const values = view.axes.map((axis) => ({
      name: short(axis.label, 32),
      value: amountOf(view, point, axis),
      note: sourceOf(view, point, axis),
    }));
    const options = Object.entries(point.design ?? {}).map(([name, value]) => ({
      name: short(name, 28),
      value: short(value, 36),
    }));
    const notes = marksIn(point);
    if (isMeasured(view, point)) notes.push("All objectives are measured.");
    else if (usable(point.confirm_cost)) {
      const cost = `${number(point.confirm_cost, 3)} ${short(unit(view.cost_label ?? ""), 12)}`.trim();
      const price = point.confirm_cost > 0 ? `about ${cost}` : "nothing, according to the costs so far";
      notes.push(`Measuring the missing objectives costs ${price}.`);
    }
    notes.push(...prospectsOf(point));
    if (own(STANDINGS, point.standing)) notes.push(own(STANDINGS, point.standing));
    if (point.probability < 1)
      notes.push(`Satisfies every constraint with probability ${percent(point.probability)}.`);
    const title = `${kindOf(point.kind).label}${point.number ? `, number ${point.number}` : ""}`;
    return { title, groups: [values, options], notes };
  };

  const costUnit = (view) => short(unit(view.cost_label ?? ""), 12);
  const costLabel = (view) => `cost to confirm${costUnit(view) ? ` [${costUnit(view)}]` : ""}`;

  /** The designs as a table: those of the front first. */
  const tableOf = (view) => {
    const names = [...new Set(view.points.flatMap((point) => Object.keys(point.design ?? {})))];
    const order = Object.keys(KINDS);
    const rank = (point) => (order.indexOf(point.kind) + order.length + 1) % (order.length + 1);
    const points = [...view.points].sort((a, b) => rank(a) - rank(b));
    return {
      caption: "Designs: confirmed, promising, then the others",
      head: [
        "number",
        "kind",
        ...view.axes.map((axis) => axis.label),
        "expected gain",
        costLabel(view),
        "chance",
        "standing",
        ...names,
      ],
      rows: points.map((point) => [
        point.number || "",
        `${kindOf(point.kind).label}${point.knee ? ", knee" : ""}`,
        ...view.axes.map((axis) => {
          const mark = own(point.measured, axis.name) === true ? "" : "~ ";
          return `${(point.best ?? []).includes(axis.name) ? "* " : mark}${amountOf(view, point, axis)}`;
        }),
        usable(point.relative_gain) ? percent(point.relative_gain) : "",
        number(point.confirm_cost, 3),
        isMeasured(view, point) ? "" : percent(point.chance ?? 1),
        short(point.standing ?? "", 12),
        ...names.map((name) => own(point.design, name)),
      ]),
      note: "* best of its objective; ~ predicted, not measured; ± standard deviation. " + (view.sentence ?? ""),
    };
  };

  /** The description of the chart. */
  const summaryOf = (view, axes) => {
    const front = view.points.filter((point) => isFront(point.kind));
    const whole = front.filter((point) => isMeasured(view, point)).length;
    const ranges = axes.map((axis) => {
      const values = front.map((point) => valueOf(point, axis)).filter(usable);
      const said = (value) => number(value, digitsIn(view).get(axis.name));
      const range = values.length ? `, from ${said(Math.min(...values))} to ${said(Math.max(...values))}` : "";
      return `${labelOf(axis)}${range}`;
    });
    const others = view.points.length - front.length + (view.left_out || 0);
    return (
      `Front of ${ranges.join("; ")}. ${count(whole, "confirmed design")}, ` +
      `${count(front.length - whole, "promising design")}; ${count(others, "other design")}.`
    );
  };

  const leftOut = (view) =>
    view.left_out ? [`${count(view.left_out, "dominated design")} farther from the front not drawn.`] : [];

  /** The points of a view by kind, in the order of the legend; unknown kinds come last. */
  const byKind = (view) => {
    const found = new Map(Object.keys(KINDS).map((kind) => [kind, []]));
    for (const point of view.points) {
      if (!found.has(point.kind)) found.set(point.kind, []);
      found.get(point.kind).push(point);
    }
    return new Map([...found].filter(([, points]) => points.length));
  };

  /** An entry of the legend for each kind. */
  const kindLegend = (view, look) =>
    [...byKind(view)].map(([kind, points]) => ({
      key: kind,
      label: kind === "violating" ? violated(view, points) : kindOf(kind).label,
      style: styleOf(kind, look),
      count: points.length,
    }));

  /** The designs as items with tooltips; `marksOf(point)` returns where each is drawn. */
  const itemsOf = (view, marksOf) =>
    view.points.map((point) => ({
      key: JSON.stringify(point.design),
      legend: point.kind,
      point,
      isFirst: isFront(point.kind),
      marks: marksOf(point),
      tip: () => tipOf(view, point),
    }));

  // Arrow keys move along the front, from its best first value.
  const walkOf = (items, axis) => {
    const front = items.map((_, i) => i).filter((i) => isFront(items[i].legend));
    return front.sort((a, b) => valueOf(items[a].point, axis) - valueOf(items[b].point, axis));
  };

  const isEmpty = (view) =>
    view.points.length ? null : "No designs to show yet: not every objective has been measured.";

  /** The axes to show: those that were requested, or the optimised ones before the constraints. */
  const chosenAxes = (view, asked = []) => {
    const named = asked.map((name) => view.axes.find((axis) => axis.name === name)).filter(Boolean);
    const rest = [...view.axes.filter((axis) => axis.optimise), ...view.axes.filter((axis) => !axis.optimise)];
    return [...named, ...rest.filter((axis) => !named.includes(axis))];
  };

  parts.pictures = {};
  parts.fronts = {
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
  };
})();
