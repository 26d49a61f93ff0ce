"use strict";
// Colours before anything is painted: what the reader chose here before, or what the system prefers.
(() => {
  try {
    const chosen = localStorage.getItem("flexibo-colours");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A browser that keeps nothing still has the system's colours.
  }
})();
