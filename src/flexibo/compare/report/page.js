"use strict";
// The charts of a comparison. Each is drawn when it is first seen, and again when a method is hidden or the theme or the
// width changes. Names come from outside: they are only drawn on a canvas, never written as HTML.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { number, short, drawable } = window.flexiboCharts.parts.text;
  const hidden = new Set();
  let measure = data.measures[0]; // which error is shown
  const drawn = new Map();
  const LOG_FROM = 30; // values that span more than this factor get a logarithmic axis

  const theme = () => {
    const style = window.getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    return { ink: colour("ink"), soft: colour("soft"), rule: colour("rule"), paper: colour("paper") };
  };
  const labelOf = (method) => document.querySelector(`.legend input[value="${method}"]`).parentElement;
  const lookOf = (method) => ({
    ...data.methods[method],
    shown: drawable(short(data.methods[method].name, 40)),
    colour: window.getComputedStyle(labelOf(method)).color,
    dash: data.methods[method].dashes ? data.methods[method].dashes.split(" ").map(Number) : "solid",
  });
  // The method under test is number 0; it is drawn last, above the others.
  const visible = (problem) =>
    problem.series.filter((series) => !hidden.has(series.method)).sort((a, b) => b.method - a.method);
  const judged = (problem) =>
    visible(problem)
      .filter((series) => series.errors[measure])
      .map((series) => ({ ...series, ...series.errors[measure] }));

  const quantile = (sorted, share) => sorted[Math.round(share * (sorted.length - 1))];
  const isWide = (values) => {
    const sorted = [...values].sort((a, b) => a - b);
    return sorted.length > 1 && sorted[0] > 0 && quantile(sorted, 0.95) / quantile(sorted, 0.05) > LOG_FROM;
  };
  const logTicks = (low, high) => {
    const steps = high / low > 300 ? [1] : high / low > 20 ? [1, 3] : [1, 2, 5];
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1)
      for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(3)));
    return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  };

  const axis = (look, { name, values, log, min, max, gap, percent }) => {
    const [low, high] = [min ?? Math.min(...values), max ?? Math.max(...values)];
    const room = log ? (high / low) ** 0.05 : 0.05 * (high - low) || 0.05 * Math.abs(high) || 1;
    const ends = {
      min: min ?? (log ? low / room : low - room),
      max: max ?? (log ? high * room : high + room),
    };
    const quarters = [0, 0.25, 0.5, 0.75, 1];
    const ticks = log || percent ? { customValues: log ? logTicks(ends.min, ends.max) : quarters } : {};
    return {
      type: log ? "log" : "value",
      ...ends,
      name: drawable(short(name, 60)),
      nameLocation: "middle",
      nameGap: gap,
      nameTextStyle: { color: look.soft },
      axisLine: { show: false },
      axisTick: { show: false, ...ticks },
      axisLabel: {
        color: look.soft,
        hideOverlap: true,
        showMinLabel: log || min !== undefined,
        showMaxLabel: log || max !== undefined,
        formatter: (value) => (percent ? `${number(100 * value, 3)} %` : number(Number(value.toPrecision(6)))),
        ...ticks,
      },
      splitLine: { lineStyle: { color: look.rule } },
      splitNumber: 4,
    };
  };

  const base = (look) => ({
    animation: false,
    textStyle: { color: look.ink, fontFamily: "system-ui, sans-serif" },
    grid: { left: 62, right: 18, top: 12, bottom: 46 },
    tooltip: {
      renderMode: "richText",
      confine: true,
      backgroundColor: look.paper,
      borderColor: look.soft,
      borderWidth: 1,
      padding: 8,
      textStyle: { color: look.ink, fontSize: 12 },
    },
  });

  /** The mean error with its band against cost, or against the share of the budget. */
  const errorChart = (problem, look, isSmall) => {
    const scale = isSmall ? 1 : problem.budget;
    const shown = judged(problem);
    const floored = (value) => Math.max(data.floor, value);
    const values = shown.flatMap((series) => [...series.low, ...series.high]).map(floored);
    const high = Math.min(1, Math.max(...values, data.floor * 3) * 1.1);
    const low = Math.max(data.floor, Math.min(...values, high / 3) / 1.1);
    const series = shown.flatMap((one) => {
      const { shown: name, colour, dash, symbol } = lookOf(one.method);
      const isOurs = one.method === 0;
      const x = one.shares.map((share) => share * scale);
      const edge = [...x.map((at, i) => [at, floored(one.high[i])]), ...x.map((at, i) => [at, floored(one.low[i])]).reverse()];
      const band = {
        type: "custom",
        name,
        silent: true,
        clip: true,
        tooltip: { show: false },
        data: [edge.flat()],
        encode: { x: [], y: [] },
        renderItem: (params, api) => ({
          type: "polygon",
          shape: { points: edge.map((point) => api.coord(point)) },
          style: { fill: colour, opacity: 0.13 },
        }),
      };
      const line = {
        type: "line",
        name,
        data: x.map((at, i) => [at, floored(one.mean[i])]),
        color: colour,
        lineStyle: { type: dash, width: isOurs ? 2.6 : 1.5 },
        symbol,
        showAllSymbol: true,
        symbolSize: (_, { dataIndex }) => (!isSmall && (x.length < 10 || dataIndex % 5 === one.method % 5) ? 7 : 0),
        emphasis: { focus: "series", lineStyle: { width: 3.2 } },
        z: isOurs ? 4 : 3,
      };
      return one.seeds > 1 ? [band, line] : [line];
    });
    const tip = (items) => {
      const rows = items
        .map(({ seriesName, dataIndex }) => {
          const one = shown.find((candidate) => lookOf(candidate.method).shown === seriesName);
          return { name: seriesName, mean: one.mean[dataIndex], low: one.low[dataIndex], high: one.high[dataIndex], one };
        })
        .sort((a, b) => a.mean - b.mean)
        .map(({ name, mean, low, high, one }) =>
          one.seeds > 1 ? `${name}: ${number(mean, 3)} (${number(low, 2)} to ${number(high, 2)})` : `${name}: ${number(mean, 3)}`,
        );
      const at = items.length ? items[0].value[0] : 0;
      return [isSmall ? `${number(100 * at)} % of the budget` : `cost ${number(at)} ${problem.unit}`, ...rows].join("\n");
    };
    const name = isSmall ? "share of the budget" : `cost after the initial designs${problem.unit ? ` (${problem.unit})` : ""}`;
    const option = base(look);
    return {
      ...option,
      tooltip: { ...option.tooltip, trigger: "axis", formatter: tip, axisPointer: { lineStyle: { color: look.soft } } },
      xAxis: axis(look, { name, values: [0, scale], min: 0, max: scale, gap: 28, percent: isSmall }),
      yAxis: axis(look, { name: `${measure} error`, values, log: true, min: low, max: high, gap: 46 }),
      series,
    };
  };

  /** The designs that count and the true front, for two of the objectives. */
  const frontChart = (problem, look, a, b) => {
    const shown = visible(problem)
      .map((series) => ({ ...series, front: series.fronts[measure] ?? [] }))
      .filter((series) => series.front.length);
    const every = [...problem.front, ...shown.flatMap((series) => series.front)];
    const [x, y] = [a, b].map((j) => every.map((row) => row[j]));
    const name = (j) => `${problem.objectives[j].name}, ${problem.objectives[j].max ? "higher" : "lower"} is better`;
    const truth = problem.front.map((row) => [row[a], row[b]]);
    const isCurve = problem.objectives.length === 2;
    const series = [
      {
        type: "line",
        name: "true front",
        data: truth,
        color: look.ink,
        step: problem.objectives[a].max ? "start" : "end",
        symbol: "circle",
        symbolSize: 3,
        lineStyle: { width: isCurve ? 1 : 0 },
        silent: true,
        tooltip: { show: false },
      },
      ...shown.map((one) => {
        const { shown: title, colour, symbol } = lookOf(one.method);
        return {
          type: "scatter",
          name: title,
          data: one.front.map((row) => [row[a], row[b]]),
          color: colour,
          symbol,
          symbolSize: one.method === 0 ? 10 : 8,
          emphasis: { focus: "series" },
        };
      }),
    ];
    const formatter = ({ seriesName, value }) =>
      [seriesName, `${problem.objectives[a].name}: ${number(value[0])}`, `${problem.objectives[b].name}: ${number(value[1])}`].join("\n");
    const option = base(look);
    return {
      ...option,
      tooltip: { ...option.tooltip, trigger: "item", formatter },
      xAxis: axis(look, { name: name(a), values: x, log: isWide(x), gap: 28 }),
      yAxis: axis(look, { name: name(b), values: y, log: isWide(y), gap: 46 }),
      series,
    };
  };

  /** How many evaluations of each objective every method made, the lowest error at the top. */
  const evaluationsChart = (problem, look) => {
    const shown = problem.series.filter((series) => !hidden.has(series.method));
    const names = shown.map((series) => lookOf(series.method).shown);
    const option = base(look);
    const greys = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#8d96a1"];
    return {
      ...option,
      grid: { left: 150, right: 24, top: 34, bottom: 40 },
      legend: { top: 0, textStyle: { color: look.ink }, selectedMode: false },
      tooltip: { ...option.tooltip, trigger: "axis", axisPointer: { type: "shadow" }, valueFormatter: (value) => number(value, 3) },
      xAxis: axis(look, { name: "evaluations", values: [0], min: 0, max: undefined, gap: 26 }),
      yAxis: {
        type: "category",
        inverse: true,
        data: names,
        axisTick: { show: false },
        axisLine: { lineStyle: { color: look.rule } },
        axisLabel: { color: look.ink, width: 138, overflow: "truncate", interval: 0 },
      },
      series: problem.objectives.map((objective, j) => ({
        type: "bar",
        name: drawable(short(objective.name, 40)),
        stack: "all",
        color: greys[j % greys.length],
        barMaxWidth: 14,
        data: shown.map((series) => series.evaluations[j]),
      })),
    };
  };

  const optionOf = (host) => {
    const problem = data.problems[Number(host.dataset.problem)];
    const look = theme();
    if (host.dataset.chart === "front") return frontChart(problem, look, Number(host.dataset.a), Number(host.dataset.b));
    if (host.dataset.chart === "evaluations") {
      const option = evaluationsChart(problem, look);
      delete option.xAxis.max;
      return option;
    }
    return errorChart(problem, look, host.dataset.chart === "overview");
  };

  const draw = (host) => {
    if (!drawn.has(host)) {
      if (host.dataset.chart === "evaluations")
        host.style.height = `${90 + 21 * data.problems[Number(host.dataset.problem)].series.length}px`;
      drawn.set(host, window.echarts.init(host));
    }
    drawn.get(host).setOption(optionOf(host), { notMerge: true });
  };
  const redraw = () => [...drawn.keys()].forEach(draw);

  const seen = new window.IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries)
      if (isIntersecting && !drawn.has(target)) draw(target);
  });
  const hosts = [...document.querySelectorAll(".chart")];
  hosts.forEach((host) => seen.observe(host));
  const resized = new window.ResizeObserver((entries) =>
    entries.forEach(({ target }) => target.clientWidth && drawn.get(target)?.resize()),
  );
  hosts.forEach((host) => resized.observe(host));

  const boxes = [...document.querySelectorAll(".legend input")];
  const show = (box, isShown) => {
    box.checked = isShown;
    if (isShown) hidden.delete(Number(box.value));
    else hidden.add(Number(box.value));
  };
  for (const box of boxes) {
    box.addEventListener("change", () => {
      show(box, box.checked);
      redraw();
    });
    const mark = (type) => () => {
      const seriesName = lookOf(Number(box.value)).shown;
      for (const chart of drawn.values()) chart.dispatchAction({ type, seriesName });
    };
    box.parentElement.addEventListener("pointerenter", mark("highlight"));
    box.parentElement.addEventListener("pointerleave", mark("downplay"));
  }
  for (const choice of document.querySelectorAll(".measures input"))
    choice.addEventListener("change", () => {
      measure = choice.value;
      for (const part of document.querySelectorAll("[data-measure]")) part.hidden = part.dataset.measure !== measure;
      redraw();
    });
  const showAll = (isShown) => () => {
    boxes.forEach((box) => show(box, isShown));
    redraw();
  };
  document.getElementById("all").addEventListener("click", showAll(true));
  document.getElementById("none").addEventListener("click", showAll(false));

  // A link to a problem opens its section; a printed page shows every section.
  const sections = [...document.querySelectorAll("details.problem")];
  const open = () => {
    const target = document.getElementById(window.location.hash.slice(1));
    if (target?.matches("details")) target.open = true;
  };
  window.addEventListener("hashchange", open);
  open();
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = sections.filter((section) => !section.open);
    sections.forEach((section) => (section.open = true));
    hosts.forEach(draw);
  });
  window.addEventListener("afterprint", () => closed.forEach((section) => (section.open = false)));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // For programs that read the page: the charts by their elements.
  Object.defineProperty(document, "flexiboCharts", { value: Object.freeze({ of: (host) => drawn.get(host), draw }) });
})();
