// Numbers, durations and times as text.

const MISSING = "–";
const plain = new Map();
const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const clock = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

const withDigits = (digits) => {
  if (!plain.has(digits)) plain.set(digits, new Intl.NumberFormat("en-GB", { maximumSignificantDigits: digits }));
  return plain.get(digits);
};

/** How many digits tell some values apart. */
export const digitsOf = (values) => window.flexiboCharts.digitsOf(values);

/** A number with four significant digits, or as many as tell it from others. */
export const number = (value, digits = 4) => {
  if (!isNumber(value)) return MISSING;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  return withDigits(digits).format(value);
};

/** A number of things. */
export const count = (value) => (isNumber(value) ? whole.format(value) : MISSING);

/** So many things, in words: "1 design", "3 designs". */
export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** A share as a percentage. */
export const percent = (value) => {
  if (!isNumber(value)) return MISSING;
  const hundredths = 100 * value;
  if (hundredths !== 0 && Math.abs(hundredths) < 0.01) return "below 0.01 %";
  return `${new Intl.NumberFormat("en-GB", { maximumSignificantDigits: hundredths < 10 ? 2 : 3 }).format(hundredths)} %`;
};

/** A duration: "3 min 20 s". */
export const duration = (seconds) => {
  if (!isNumber(seconds)) return MISSING;
  const s = Math.max(0, seconds);
  if (s < 10) return `${s < 1 ? s.toFixed(1) : Math.floor(s)} s`;
  const parts = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = parts.findIndex(([, length]) => s >= length);
  const [name, length] = parts[first];
  const rest = parts[first + 1];
  const left = rest ? Math.floor((s % length) / rest[1]) : 0;
  return `${Math.floor(s / length)} ${name}${left ? ` ${left} ${rest[0]}` : ""}`;
};

/** A time in the past: "3 min 20 s ago". */
export const ago = (seconds) => (isNumber(seconds) ? (seconds < 2 ? "just now" : `${duration(seconds)} ago`) : MISSING);

/** A time that the server wrote, on the reader's own clock. */
export const moment = (iso) => {
  const when = new Date(iso ?? NaN);
  return Number.isNaN(when.getTime()) ? MISSING : clock.format(when);
};

/** The unit in a label such as "cost [s]". */
export const unitOf = (label) => /\[([^\]]*)\]\s*$/.exec(label ?? "")?.[1] ?? "";

/** A number with its unit. */
export const withUnit = (value, unit, digits) => `${number(value, digits)}${unit && isNumber(value) ? ` ${unit}` : ""}`;

/** How many digits of a number that somebody chose are shown: all of a whole number, six of others. */
const chosenDigits = (value) => (Number.isInteger(value) ? 16 : 6);

/** A number that somebody chose, such as a budget or a bound. */
export const given = (value, unit) => withUnit(value, unit, chosenDigits(value));

/** The value of an option. */
export const optionValue = (value) => (isNumber(value) ? number(value, chosenDigits(value)) : value === null ? MISSING : String(value));

/** A design in one line. */
export const designText = (design) => Object.entries(design ?? {}).map(([name, value]) => `${name}=${optionValue(value)}`).join(", ");
