"use strict";
// Axes: their limits, their ticks, and the position of a value. A logarithmic axis is drawn as the logarithm of its
// values, a category as its index in the list, so that every axis is linear on the screen.
(() => {
  const { parts } = window.flexiboCharts;
  const { number, short } = parts.text;

  const usable = (value) => typeof value === "number" && Number.isFinite(value);

  const bounds = (values) => {
    let [low, high] = [Infinity, -Infinity];
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return low <= high ? [low, high] : null;
  };

  /**
   * An axis that shows values, with a margin.
   * `keep` are further values that it shows if they are near, `zero` is whether it begins at zero.
   */
  const valued = ({ label, values, log = false, keep = [], zero = false, whole = false, margin = 0.06 }) => {
    const found = values.filter(usable);
    const logarithmic = log && found.length > 0 && found.every((value) => value > 0);
    const at = (value) => (logarithmic ? (value > 0 ? Math.log10(value) : -Infinity) : value);
    let [low, high] = bounds(found.map(at)) ?? [0, 1];
    const near = (high - low || Math.abs(high) || 1) * 0.8;
    for (const value of keep.filter(usable).map(at)) {
      if (value >= low - near && value <= high + near) [low, high] = [Math.min(low, value), Math.max(high, value)];
    }
    if (zero && !logarithmic) [low, high] = [Math.min(0, low), Math.max(0, high)];
    const room = margin * (high - low || (logarithmic ? 1 : Math.abs(high) || 1));
    const isFloor = zero && low === 0 && !logarithmic;
    const ends = [isFloor ? 0 : low - room, high + room];
    const [min, max] = ends[0] < ends[1] ? ends : [ends[0] - 0.5, ends[1] + 0.5];
    return { label, log: logarithmic, at, whole, min, max };
  };

  /** An axis of categories of equal width; the first is on the left, or at the top if vertical. */
  const categorical = ({ label, categories, vertical = false }) => {
    const places = new Map(categories.map((category, place) => [category, place]));
    const at = (value) => places.get(value) ?? NaN;
    return { label, at, categories, inverse: vertical, min: -0.5, max: categories.length - 0.5 };
  };

  const stepOf = (span, count) => {
    const raw = span / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(raw));
    const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= raw * 0.8) ?? 10;
    return factor * power;
  };

  const linearTicks = (min, max, count, whole) => {
    const step = whole ? Math.max(1, Math.round(stepOf(max - min, count))) : stepOf(max - min, count);
    const ticks = [];
    if (!(step > 0) || !Number.isFinite(step)) return ticks;
    for (let k = Math.ceil(min / step - 1e-9); k * step <= max + 1e-9 * step && ticks.length < 60; k += 1)
      ticks.push(k * step);
    return ticks;
  };

  const logarithmicTicks = (min, max, count, whole) => {
    const [low, high] = [10 ** min, 10 ** max];
    if (max - min < 0.7)
      return linearTicks(low, high, count, whole)
        .filter((value) => value > 0)
        .map(Math.log10);
    const factors = max - min < 1.6 ? [1, 2, 5] : max - min < 2.6 ? [1, 3] : [1];
    const stride = Math.max(1, Math.ceil((max - min) / (1.3 * count)));
    const ticks = [];
    for (let power = Math.floor(min); power <= Math.ceil(max); power += 1) {
      if (power % stride) continue;
      for (const factor of factors) ticks.push(power + Math.log10(factor));
    }
    return ticks.filter((tick) => tick >= min - 1e-9 && tick <= max + 1e-9 && !(whole && tick < -1e-9));
  };

  /** The positions and texts of about `count` ticks; texts have at most `limit` characters. */
  const ticksOf = (axis, count, limit = 14) => {
    if (axis.categories) {
      const stride = axis.every ? 1 : Math.ceil(axis.categories.length / Math.max(1, count));
      const at = axis.categories.map((_, place) => place).filter((place) => place % stride === 0);
      const inside = at.filter((place) => place >= axis.min && place <= axis.max);
      return { at: inside, texts: inside.map((place) => short(axis.shown?.[place] ?? axis.categories[place], limit)) };
    }
    const at = (axis.log ? logarithmicTicks : linearTicks)(axis.min, axis.max, count, axis.whole);
    return { at, texts: at.map((tick) => tickText(axis.log ? 10 ** tick : tick, axis.max - axis.min)) };
  };

  // Ticks that are close together and far from zero need more digits.
  const tickText = (value, span) => {
    const size = Math.abs(value);
    const digits = size > 0 && span > 0 ? Math.ceil(Math.log10(size / span)) + 3 : 4;
    return number(Number(value.toPrecision(12)), Math.min(12, Math.max(4, digits)));
  };

  /** An axis that shows another part of the same values; unchanged if the part is not usable. */
  const zoomed = (axis, part) => {
    const fits =
      part && usable(part[0]) && usable(part[1]) && part[1] - part[0] > 1e-12 * (Math.abs(part[0]) + Math.abs(part[1]));
    return fits ? { ...axis, min: part[0], max: part[1] } : axis;
  };

  parts.axes = { valued, categorical, ticksOf, zoomed, usable, bounds };
})();
