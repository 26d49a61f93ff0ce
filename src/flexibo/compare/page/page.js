"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const body = document.body;
  const boxes = [...document.querySelectorAll(".legend input")];
  const problems = [...document.querySelectorAll("details.problem")];

  const shown = (value) => {
    if (value === 0) return "0";
    const size = Math.abs(value);
    return size >= 1e-4 && size < 1e7
      ? Number(value.toPrecision(3)).toLocaleString("en").replaceAll(",", "\u202f")
      : value.toExponential(2);
  };

  // The legend: what is not ticked is hidden everywhere, what is pointed at stands out everywhere.
  const follow = (box) => body.classList.toggle("hide-" + box.value, !box.checked);
  const tick = (wanted) => boxes.forEach((box) => { box.checked = wanted(box); follow(box); });
  boxes.forEach((box) => {
    const label = box.closest("label");
    const on = () => box.checked && body.classList.add("focus-" + box.value);
    const off = () => body.classList.remove("focus-" + box.value);
    box.addEventListener("change", () => { off(); follow(box); });
    label.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && on());
    label.addEventListener("pointerleave", off);
    box.addEventListener("focus", () => box.matches(":focus-visible") && on());
    box.addEventListener("blur", off);
    follow(box);
  });
  document.getElementById("all").addEventListener("click", () => tick(() => true));
  document.getElementById("none").addEventListener("click", () => tick((box) => box.value === "m0"));

  // Problems: opened all at once, by a link, and for printing.
  const opener = document.getElementById("open");
  const open = (wanted) => {
    problems.forEach((problem) => { problem.open = wanted; });
    opener.textContent = wanted ? "Close all" : "Open all";
  };
  opener.addEventListener("click", () => open(opener.textContent === "Open all"));
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.matches("details.problem")) { target.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  reveal();
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = problems.filter((problem) => problem.open);
    problems.forEach((problem) => { problem.open = true; });
  });
  addEventListener("afterprint", () => problems.forEach((problem) => { problem.open = opened.includes(problem); }));

  // Titles would come late and twice; what they say is shown at once instead.
  document.querySelectorAll("svg.plot title").forEach((title) => {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  });

  const scale = (text) => {
    const [kind, ...numbers] = text.split(" ");
    const [low, high, start, end] = numbers.map(Number);
    return (value) => {
      const inside = Math.min(Math.max(value, low), high);
      const share = kind === "log" ? Math.log(inside / low) / Math.log(high / low) : (inside - low) / (high - low);
      return start + share * (end - start);
    };
  };

  // Everything in a plot that can be named: where it lies, whose it is, what to say.
  const places = (plot) => {
    const problem = data.problems[Number(plot.dataset.problem)];
    const x = scale(plot.dataset.x);
    const y = scale(plot.dataset.y);
    const found = [];
    for (const series of problem.series) {
      if (plot.dataset.plot === "front") {
        const [a, b] = [Number(plot.dataset.a), Number(plot.dataset.b)];
        for (const row of series.front || []) {
          const values = problem.objectives.map(([name, unit], j) => `${name} ${shown(row[j])} ${unit}`.trim());
          found.push({ m: series.m, x: x(row[a]), y: y(row[b]), text: values.join("\n") });
        }
        continue;
      }
      problem.shares.forEach((share, k) => {
        const cost = plot.dataset.plot === "cost";
        const seeds = series.seeds === 1 ? "1 seed, no band" : `90 % band ${shown(series.low[k])} to ${shown(series.high[k])}, ${series.seeds} seeds`;
        const where = cost ? `${shown(share * problem.budget)} ${problem.unit}`.trim() : `${shown(100 * share)} % of the budget`;
        found.push({
          m: series.m, x: x(cost ? share * problem.budget : share), y: y(series.mean[k]),
          text: `error ${shown(series.mean[k])} at ${where}\n${seeds}`,
        });
      });
    }
    return found;
  };

  const known = new WeakMap();
  let marked = null;
  const forget = () => {
    tip.hidden = true;
    if (!marked) return;
    marked.figure.classList.remove(marked.focus);
    marked.cursor.remove();
    marked = null;
  };
  const say = (heading, text, event) => {
    const bold = document.createElement("b");
    bold.textContent = heading;
    tip.replaceChildren(bold, text);
    tip.hidden = false;
    const left = event.clientX + 16 + tip.offsetWidth > innerWidth ? event.clientX - 12 - tip.offsetWidth : event.clientX + 16;
    const top = event.clientY + 16 + tip.offsetHeight > innerHeight ? event.clientY - 12 - tip.offsetHeight : event.clientY + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, top)}px`;
  };
  const point = (plot, event) => {
    if (!known.has(plot)) known.set(plot, places(plot));
    const box = plot.getBoundingClientRect();
    const view = plot.viewBox.baseVal;
    const px = ((event.clientX - box.left) * view.width) / box.width;
    const py = ((event.clientY - box.top) * view.height) / box.height;
    let best = null;
    let least = 22 * 22;
    for (const place of known.get(plot)) {
      if (body.classList.contains("hide-m" + place.m)) continue;
      const distance = (place.x - px) ** 2 + (place.y - py) ** 2;
      if (distance < least) { least = distance; best = place; }
    }
    forget();
    if (!best) return;
    const figure = plot.closest("figure");
    const cursor = document.createElementNS(plot.namespaceURI, "circle");
    for (const [name, value] of [["class", "cursor"], ["cx", best.x], ["cy", best.y], ["r", 5.5]]) cursor.setAttribute(name, value);
    plot.append(cursor);
    marked = { figure, cursor, focus: "focus-m" + best.m };
    figure.classList.add(marked.focus);
    say(data.methods[best.m], best.text, event);
  };
  const look = (event) => {
    const plot = event.target.closest && event.target.closest("svg.plot");
    if (plot && plot.dataset.plot) { point(plot, event); return; }
    forget();
    const told = plot && event.target.closest("[data-tip]");
    if (told) {
      const [heading, ...rest] = told.dataset.tip.split(": ");
      say(heading, rest.join(": "), event);
    }
  };
  document.addEventListener("pointermove", look);
  document.addEventListener("pointerdown", look);
  document.addEventListener("pointerleave", forget);
  addEventListener("scroll", forget, { passive: true });
  document.addEventListener("keydown", (event) => event.key === "Escape" && forget());
})();
