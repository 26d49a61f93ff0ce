"use strict";
// Why the last evaluations were chosen: a table, since there is nothing to draw.
(() => {
  const { parts } = window.flexiboCharts;
  const { short, number, digitsOf, percent, count, unit } = parts.text;

  const designOf = (design) =>
    Object.entries(design ?? {})
      .map(([name, value]) => `${short(name, 24)} ${short(value, 24)}`)
      .join(", ");

  parts.pictures.choices = (view) => {
    if (!view.choices.length) return { empty: "No evaluation has been asked yet." };
    const costs = ` ${short(unit(view.cost_label), 12)}`.trimEnd();
    const measured = (name) => view.choices.filter((choice) => choice.objective === name).map(({ value }) => value);
    const digits = new Map(view.choices.map(({ objective: name }) => [name, 0]));
    for (const name of digits.keys()) digits.set(name, digitsOf(measured(name)));
    const runnerUp = (one) => {
      if (!one) return "–";
      const what = `${short(one.objective, 24)} of ${designOf(one.design)}`;
      return `${what}: gain ${number(one.gain, 3)}, cost ${number(one.cost, 3)}${costs}`;
    };
    return {
      isTableOnly: true,
      summary: `Why evaluations were chosen: the last ${count(view.choices.length, "choice")}.`,
      table: () => ({
        caption: "Why each evaluation was chosen, latest first",
        head: [
          "number",
          "objective",
          "design",
          "expected gain",
          "share of the region",
          view.cost_label,
          "state",
          "value",
          "why",
          "runner-up",
        ],
        rows: view.choices.map((choice) => [
          choice.number,
          choice.objective,
          designOf(choice.design),
          number(choice.gain, 3),
          percent(choice.gain_share),
          number(choice.cost, 3),
          choice.state,
          number(choice.value, digits.get(choice.objective)),
          choice.why,
          runnerUp(choice.runner_up),
        ]),
        note: "",
      }),
    };
  };
})();
