"use strict";
// Learning curves: a line for each design over the steps of an objective.
(() => {
  const { parts } = window.flexiboCharts;
  const { short, number, digitsOf, count } = parts.text;
  const { valued, usable } = parts.axes;
  const { dots, line } = parts.looks;

  const STATES = [
    ["complete", "measured to the last step"],
    ["running", "being measured"],
    ["stopped", "stopped before the last step"],
  ];

  const styleOf = (state, look) =>
    ({
      complete: { colour: look.series[0], dash: "solid", width: 1.8, shape: "circle", size: 7, z: 5 },
      running: { colour: look.predicted, dash: "solid", width: 1.8, shape: "triangle", size: 9, z: 6 },
      stopped: { colour: look.faint, dash: "solid", width: 1.2, shape: "diamond", size: 7, z: 4 },
    })[state] ?? { colour: look.faint, dash: "solid", width: 1.2, shape: "circle", size: 6, z: 3 };

  const labelOf = ({ name, unit }) => (unit ? `${short(name, 32)} [${short(unit, 12)}]` : short(name, 32));

  const panelOf = ({ axis, stops, curves }) => ({
    x: valued({ label: "step", values: [0, stops.at(-1)], zero: true, whole: true }),
    y: valued({
      label: labelOf(axis),
      values: curves.flatMap(({ points }) => points.map(([, value]) => value)),
      log: axis.log,
    }),
  });

  const tipOf = ({ axis, stops }, curve) => {
    const [step, value] = curve.points.at(-1);
    const goes = curve.state === "running" ? ` (going to ${number(curve.stop, 10)})` : "";
    const options = Object.entries(curve.design ?? {});
    return {
      title: `evaluation ${curve.number}: ${short(axis.name, 32)}`,
      groups: [
        [
          { name: labelOf(axis), value: number(value) },
          { name: "step", value: `${number(step, 10)} of ${number(stops.at(-1), 10)}${goes}` },
        ],
        options.map(([name, one]) => ({
          name: short(name, 32),
          value: typeof one === "number" ? number(one) : short(one, 32),
        })),
      ],
      notes: curve.why ? [curve.why] : [],
    };
  };

  const itemsOf = (view, panels) =>
    view.objectives.flatMap((objective, panel) =>
      objective.curves
        .filter(({ points }) => points.length)
        .map((curve) => {
          const [step, value] = curve.points.at(-1);
          const [x, y] = [panels[panel].x.at(step), panels[panel].y.at(value)];
          return {
            key: `${objective.axis.name}:${curve.number}`,
            legend: curve.state,
            point: { number: curve.number },
            marks: usable(y) ? [{ panel, x, y }] : [],
            tip: () => tipOf(objective, curve),
          };
        }),
    );

  const tableOf = (view) => ({
    caption: "What is known of each design at its last step",
    head: ["number", "objective", "step", "value", "state", "why it was stopped", "design"],
    rows: view.objectives.flatMap(({ axis, stops, curves }) => {
      const digits = digitsOf(curves.map(({ points }) => points.at(-1)?.[1]));
      return curves.map((curve) => [
        curve.number,
        axis.name,
        `${number(curve.points.at(-1)?.[0] ?? 0, 10)} of ${number(stops.at(-1), 10)}`,
        number(curve.points.at(-1)?.[1], digits),
        curve.state,
        curve.why ?? "",
        Object.entries(curve.design ?? {})
          .map(([name, value]) => `${short(name, 24)} ${short(value, 24)}`)
          .join(", "),
      ]);
    }),
    note: "",
  });

  parts.pictures.curves = (view, { look, hidden }) => {
    if (!view.objectives.length) return { empty: "No objective of this study has steps." };
    if (!view.objectives.some(({ curves }) => curves.some(({ points }) => points.length)))
      return { empty: "No step was reported yet." };
    const panels = view.objectives.map(panelOf);
    const drawn = view.objectives.flatMap(({ curves }, panel) =>
      curves
        .filter(({ state, points }) => points.length && !hidden.has(state))
        .map((curve) => ({
          panel,
          style: styleOf(curve.state, look),
          places: curve.points.map(([step, value]) => [step, panels[panel].y.at(value)]).filter(([, y]) => usable(y)),
        })),
    );
    const all = view.objectives.flatMap(({ curves }) => curves);
    const many = (state) => all.filter((curve) => curve.state === state).length;
    const counts = STATES.map(([state, label]) => `${many(state)} ${label}`).join(", ");
    const items = itemsOf(view, panels);
    const left = view.objectives.reduce((sum, { in_all: whole, curves }) => sum + whole - curves.length, 0);
    return {
      panels,
      columns: Math.min(2, panels.length),
      panelHeight: 320,
      items,
      drag: "zoom",
      walk: items.map((_, i) => i).filter((i) => items[i].marks.length),
      series: drawn.flatMap(({ panel, style, places }) => [
        line(panel, places, { ...style, opacity: 0.8 }),
        dots(panel, places.slice(-1), style, look),
      ]),
      legend: STATES.filter(([state]) => many(state)).map(([state, label]) => ({
        key: state,
        label,
        style: styleOf(state, look),
        count: many(state),
      })),
      summary: `Learning curves of ${count(all.length, "design")}: ${counts}.`,
      table: () => tableOf(view),
      notes: left ? [`${count(left, "older curve")} not drawn.`] : [],
    };
  };
})();
