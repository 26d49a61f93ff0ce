"use strict";
// Two studies in one picture: their fronts, or what they reached against cost.
(() => {
  const { parts } = window.flexiboCharts;
  const { short, number, count, unit } = parts.text;
  const { valued, usable, bounds } = parts.axes;
  const { nth, dots, line, isFront } = parts.looks;
  const { own, valueOf, labelOf, itemsOf, walkOf, chosenAxes } = parts.fronts;

  const WIDE = 15; // as in the other charts against cost
  const MOST_PANELS = 10;
  const LEGEND = "Filled marks are confirmed designs, hollow ones promising designs that are not measured yet.";
  const COURSES = {
    hypervolume: { label: "hypervolume", values: (view) => own(view.rows, "hypervolume") ?? [], isVolume: true },
    region: { label: "Pareto region", values: (view) => own(view.rows, "region_volume") ?? [], isVolume: true },
    evaluations: {
      label: "number of evaluations",
      values: (view) => (own(view.rows, "number") ?? []).map((_, i) => sum(view.evaluations, i)),
      whole: true,
    },
  };

  const sum = (columns, i) => Object.values(columns).reduce((total, column) => total + (column[i] ?? 0), 0);
  const named = (axis) => `${axis.name} ${axis.unit} ${axis.optimise ? axis.direction : "constraint"}`;
  const said = (axes) => axes.map((axis) => short(axis.label, 32)).join(", ");

  /** Why two fronts cannot be drawn over each other, or nothing. */
  const unlikeFronts = ([a, b]) => {
    const same = a.axes.length === b.axes.length && a.axes.every((axis, j) => named(axis) === named(b.axes[j]));
    if (same) return "";
    return (
      "The two studies have different objectives, units or directions, so they cannot be drawn in one picture: " +
      `${said(a.axes)} and ${said(b.axes)}.`
    );
  };

  /** Why two courses cannot be drawn over each other, or nothing. */
  const unlikeCourses = ([a, b], course) => {
    if (a.cost_label !== b.cost_label)
      return (
        "The costs of the two studies have different units: " +
        `${short(a.cost_label, 24)} and ${short(b.cost_label, 24)}.`
      );
    if (a.objectives.join("\0") !== b.objectives.join("\0")) return "The two studies have different objectives.";
    if (!course.isVolume) return "";
    if (a.volume_unit !== b.volume_unit) return "The objectives of the two studies have different units.";
    if (JSON.stringify(a.reference) !== JSON.stringify(b.reference))
      return (
        "The volumes of the two studies are measured from different reference points, so they cannot be compared; " +
        "give both studies the same reference."
      );
    return "";
  };

  const legendOf = (view, look) =>
    view.names.map((name, s) => {
      const { colour, shape } = nth(look, s);
      return { key: `study:${s}`, label: short(name, 40), style: { colour, shape, size: 10 } };
    });

  const shownIn = (view) => view.points.filter((point) => isFront(point.kind) || point.kind === "measured");

  const front = (view, { look, hidden, width }) => {
    const lack = unlikeFronts(view.views);
    if (lack) return { empty: lack };
    const views = view.views.map((one) => ({ ...one, points: shownIn(one) }));
    if (!views.some((one) => one.points.length)) return { empty: "No design is measured in every objective yet." };
    const optimised = views[0].axes.filter((axis) => axis.optimise);
    const axes = optimised.length > 1 ? optimised : chosenAxes(views[0]).slice(0, 2);
    const pairs = axes.flatMap((a, i) => axes.slice(i + 1).map((b) => [a, b])).slice(0, MOST_PANELS);
    const panels = pairs.map((shown) => {
      const [x, y] = shown.map((axis) => {
        const values = views.flatMap((one) => one.points.map((point) => valueOf(point, axis)));
        const log = views.every((one) => one.axes.find(({ name }) => name === axis.name).log);
        return valued({ label: labelOf(axis), values, log, whole: axis.whole });
      });
      return { x, y };
    });
    const place = (point, p) => {
      const [first, second] = pairs[p].map((axis) => valueOf(point, axis));
      return [panels[p].x.at(first), panels[p].y.at(second)];
    };
    const items = views.flatMap((one, s) =>
      itemsOf(one, (point) =>
        pairs.flatMap((_, panel) => {
          const [x, y] = place(point, panel);
          return usable(x) && usable(y) ? [{ panel, x, y }] : [];
        }),
      ).map((item) => ({
        ...item,
        key: `${s} ${item.key}`,
        legend: `study:${s}`,
        tip: () => ({ ...item.tip(), title: `${short(view.names[s], 32)}: ${item.tip().title}` }),
      })),
    );
    const series = pairs.flatMap((_, panel) =>
      views.flatMap((one, s) => {
        if (hidden.has(`study:${s}`)) return [];
        const { colour, shape } = nth(look, s);
        const marks = (kinds) =>
          one.points
            .filter((point) => kinds(point.kind))
            .map((point) => place(point, panel))
            .filter((at) => at.every(usable));
        const [faint, open, whole] = [
          { colour, shape, size: 5, opacity: 0.35, z: 3 },
          { colour, shape, size: 10, hollow: true, z: 6 },
          { colour, shape, size: 11, z: 7 },
        ];
        return [
          dots(panel, marks((kind) => kind === "measured"), faint, look),
          dots(panel, marks((kind) => isFront(kind) && kind !== "front-confirmed"), open, look),
          dots(panel, marks((kind) => kind === "front-confirmed"), whole, look),
        ];
      }),
    );
    const counted = views.map((one, s) => `${short(view.names[s], 32)}: ${count(one.confirmed, "confirmed design")}`);
    return {
      panels,
      items,
      walk: walkOf(items.map((item) => ({ ...item, legend: item.point.kind })), axes[0]),
      drag: "zoom",
      series,
      legend: legendOf(view, look),
      summary: `Fronts of two studies over ${said(axes)}. ${counted.join("; ")}.`,
      notes: [`${counted.join("; ")}. ${LEGEND}`],
      columns: Math.max(1, Math.min(3, pairs.length, Math.floor(width / 280))),
      panelHeight: pairs.length > 1 ? 290 : 420,
    };
  };

  const course = (name) => (view, { look, hidden }) => {
    const chosen = COURSES[name];
    const lack = unlikeCourses(view.views, chosen);
    if (lack) return { empty: lack };
    const [first] = view.views;
    const courses = view.views.map((one) => ({ spent: own(one.rows, "spent") ?? [], values: chosen.values(one) }));
    const all = courses.flatMap(({ values }) => values);
    if (!all.some(usable)) return { empty: "There is nothing to compare yet." };
    const [low, high] = bounds(all.filter(usable));
    const log = low > 0 && high > WIDE * low && !chosen.whole;
    const volume = chosen.isVolume && first.volume_unit ? ` [${short(first.volume_unit, 24)}]` : "";
    const x = valued({
      label: short(first.cost_label, 48),
      values: courses.flatMap(({ spent }) => spent),
      zero: true,
      margin: 0.03,
    });
    const y = valued({ label: chosen.label + volume, values: all, log, zero: !log, whole: chosen.whole });
    const places = courses.map(({ spent, values }) => spent.map((cost, i) => [cost, y.at(values[i] ?? NaN)]));
    const items = courses.flatMap(({ spent, values }, s) =>
      spent.map((cost, i) => ({
        key: `${s} ${i}`,
        legend: `study:${s}`,
        point: { study: s },
        marks: places[s][i].every(usable) ? [{ panel: 0, x: cost, y: places[s][i][1] }] : [],
        tip: () => ({
          title: short(view.names[s], 40),
          groups: [
            [
              { name: chosen.label, value: number(values[i]) },
              { name: `spent so far ${unit(first.cost_label)}`.trim(), value: number(cost) },
            ],
          ],
          notes: [],
        }),
      })),
    );
    const last = courses.map(({ values }, s) => `${short(view.names[s], 32)} ${number(values.findLast(usable))}`);
    return {
      panels: [{ x, y }],
      columns: 1,
      panelHeight: 320,
      items,
      drag: "zoom",
      walk: items.map((_, i) => i).filter((i) => items[i].marks.length),
      series: places.flatMap((points, s) => {
        const { colour, dash } = nth(look, s);
        const drawn = points.filter((at) => at.every(usable));
        return hidden.has(`study:${s}`) ? [] : [line(0, drawn, { colour, dash, width: 2.4, step: true })];
      }),
      legend: view.names.map((text, s) => {
        const { colour, dash } = nth(look, s);
        return { key: `study:${s}`, label: short(text, 40), style: { colour, dash } };
      }),
      summary: `${chosen.label} of two studies over ${short(first.cost_label, 40)}: ${last.join(", ")}.`,
      notes: [],
    };
  };

  Object.assign(parts.pictures, {
    "overlay-front": front,
    ...Object.fromEntries(Object.keys(COURSES).map((name) => [`overlay-${name}`, course(name)])),
  });
})();
