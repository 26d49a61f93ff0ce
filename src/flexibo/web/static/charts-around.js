"use strict";
// The elements around a chart: legend, tooltip, colour scale, table.
(() => {
  const { parts } = window.flexiboCharts;
  const { element, short, clean } = parts.text;
  const { swatch } = parts.looks;

  const MOST_OPTIONS = 14;
  const MOST_ROWS = 500;

  /** The legend: a button for each entry, which hides or shows it. */
  const legend = (host, entries, look, hidden, toggle) => {
    const focused = entries.findIndex((_, i) => host.children[i] === document.activeElement);
    host.replaceChildren(
      ...entries.map((entry) => {
        const made = element(entry.isFixed ? "span" : "button", "fc-entry");
        if (!entry.isFixed) {
          made.type = "button";
          made.setAttribute("aria-pressed", String(!hidden.has(entry.key)));
          made.title = hidden.has(entry.key) ? "Show" : "Hide";
          made.addEventListener("click", () => toggle(entry.key));
        }
        made.append(swatch(entry.style, look), element("bdi", "fc-name", entry.label));
        if (entry.count > 0) made.append(element("span", "fc-count", String(entry.count)));
        return made;
      }),
    );
    if (focused >= 0) host.children[focused]?.focus();
  };

  const tipRow = ({ name, value, note }) => {
    const row = element("div", "fc-row");
    row.append(element("bdi", "fc-key", name), element("bdi", "fc-value", value));
    if (note) row.append(element("span", "fc-aside", note));
    return row;
  };

  /** Fills the tooltip. */
  const tip = (host, { title, groups, notes }) => {
    const made = [element("p", "fc-title", clean(title))];
    for (const group of groups) {
      if (!group.length) continue;
      const list = element("div", "fc-group");
      list.append(...group.slice(0, MOST_OPTIONS).map(tipRow));
      if (group.length > MOST_OPTIONS) list.append(element("p", "fc-more", `and ${group.length - MOST_OPTIONS} more`));
      made.push(list);
    }
    made.push(...notes.map((note) => element("p", "fc-note", note)));
    host.replaceChildren(...made);
  };

  /** The text of the tooltip as one sentence, for screen readers. */
  const spoken = ({ title, groups, notes }) => {
    const rows = groups.flatMap((group) => group.slice(0, MOST_OPTIONS));
    const said = rows.map(({ name, value, note }) => `${name} ${value}${note ? ` ${note}` : ""}`);
    return [`${title}: ${said.join(", ")}.`, ...notes].join(" ");
  };

  /** Places the tooltip beside a point of the chart, inside the chart if there is room. */
  const placeTip = (host, [px, py], width, height) => {
    const [own, tall] = [host.offsetWidth, host.offsetHeight];
    const isNarrow = width < 480;
    const beside = px + 16 + own <= width ? px + 16 : px - 16 - own;
    const left = isNarrow || beside < 0 ? Math.max(0, Math.min(width - own, px - own / 2)) : beside;
    const below = py + 20 + tall <= height || py < tall + 20 ? py + 20 : py - 20 - tall;
    const top = isNarrow || beside < 0 ? below : Math.max(0, Math.min(height - tall, py - tall / 3));
    host.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  };

  const ramp = (host, scale) => {
    host.hidden = !scale;
    if (!scale) return;
    const strip = element("span", "fc-strip");
    strip.style.background = `linear-gradient(to right, ${scale.colours.join(", ")})`;
    const values = element("span", "fc-scale");
    values.append(element("span", "", scale.from), strip, element("span", "", scale.to));
    host.replaceChildren(element("bdi", "fc-name", scale.label), values);
  };

  /** The values of the chart as a table. */
  const table = (host, { caption, head, rows, note }) => {
    const made = element("table");
    const top = made.createTHead().insertRow();
    for (const name of head) {
      const cell = element("th", "", short(name, 40));
      cell.scope = "col";
      top.append(cell);
    }
    const body = made.createTBody();
    for (const row of rows.slice(0, MOST_ROWS)) {
      const line = body.insertRow();
      for (const value of row) {
        const cell = line.insertCell();
        cell.append(element("bdi", "", short(value, 120)));
        if (typeof value === "number") cell.className = "fc-number";
      }
    }
    made.createCaption().textContent = caption;
    const scroll = element("div", "fc-scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", caption);
    scroll.append(made);
    const left = rows.length > MOST_ROWS ? [`${rows.length - MOST_ROWS} further rows are not listed.`] : [];
    host.replaceChildren(scroll, ...[...left, note].filter(Boolean).map((text) => element("p", "fc-note", text)));
  };

  parts.around = { legend, tip, spoken, placeTip, ramp, table };
})();
