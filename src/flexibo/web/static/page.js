"use strict";
// Draws the charts of a page in one file.
(() => {
  const views = JSON.parse(document.getElementById("data").textContent);
  const charts = [...document.querySelectorAll("figure > .chart")].map((element) =>
    window.flexiboCharts.draw(element, views[Number(element.dataset.view)], { picture: element.dataset.picture }),
  );
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const paint = (theme) => charts.forEach((chart) => chart.setTheme(theme));
  dark.addEventListener("change", () => paint(dark.matches ? "dark" : "light"));
  window.addEventListener("beforeprint", () => paint("light"));
  window.addEventListener("afterprint", () => paint(dark.matches ? "dark" : "light"));
  // For programs that control the page: the charts, in order.
  Object.defineProperty(document, "flexiboPictures", { value: Object.freeze(charts) });
})();
