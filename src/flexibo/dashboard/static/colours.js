// Light and dark: the system's preference, or a choice that is remembered.

const KEY = "flexibo-colours";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

/** The colours that are shown: "light" or "dark". */
export const theme = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");

/** Has a function called with the new colours when they change; returns what ends that. */
export const onTheme = (listener) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

const tell = () => listeners.forEach((listener) => listener(theme()));

const keep = (chosen) => {
  try {
    if (chosen === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, chosen);
  } catch {
    // It is chosen for this visit only.
  }
};

/** Lets a select choose the colours. */
export const offerColours = (select) => {
  select.value = document.documentElement.dataset.theme ?? "system";
  select.addEventListener("change", () => {
    if (select.value === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = select.value;
    keep(select.value);
    tell();
  });
  dark.addEventListener("change", tell);
};
