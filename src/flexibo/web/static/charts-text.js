"use strict";
// Texts and numbers in charts. Names, option values and messages come from users: they are only ever drawn as plain
// text, on one line, without invisible characters, and without their middle if they are too long.
(() => {
  const parts = {};
  window.flexiboCharts = { parts };

  // Invisible characters (controls, direction marks, unpaired surrogates) and stacked accents.
  const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;
  const STACKED = /(\p{M}{2})\p{M}+/gu;

  const escaped = (character) => {
    const code = character.codePointAt(0);
    if (character === "\n") return "\\n";
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  };

  // As given, without digits that come from rounding.
  const plain = (value) => String(Number.isInteger(value) ? value : Number(value.toPrecision(6)));

  /** A value as text on one line, with visible characters only. */
  const clean = (value) => {
    const text = typeof value === "number" ? plain(value) : String(value ?? "–");
    return text.replace(INVISIBLE, escaped).replace(STACKED, "$1");
  };

  /** A value as text of at most `limit` characters; its middle is left out. */
  const short = (value, limit = 40) => {
    // Cut before cleaning: a text of megabytes must not be processed to show forty characters of it.
    const whole = typeof value === "string" && value.length > 16 * limit ? ends(value, 6 * limit) : value;
    return ends(clean(whole), limit);
  };

  const ends = (text, limit) => {
    const characters = Array.from(text);
    if (characters.length <= limit) return text;
    const head = Math.ceil((limit - 1) / 2);
    const tail = limit - 1 - head;
    return characters.slice(0, head).join("") + "…" + (tail ? characters.slice(-tail).join("") : "");
  };

  /** A text as ECharts may draw it: it looks up the widths of texts by themselves, also of such as "__proto__". */
  const drawable = (text) => (text in Object.prototype ? `${text} ` : text);

  /** A number with at most `digits` significant digits and separated thousands. */
  const number = (value, digits = 4) => {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size < 1e-4 || size >= 1e7)
      return value
        .toExponential(Math.max(0, digits - 1))
        .replace(/\.?0+e/, "e")
        .replace("e+", "e");
    const [whole, rest] = String(Number(value.toPrecision(digits))).split(".");
    const apart = whole.replace(/(?<=\d)(?=(\d{3})+$)/g, "\u202f");
    return rest ? `${apart}.${rest}` : apart;
  };

  const [FEWEST_DIGITS, MOST_DIGITS] = [4, 8];

  /** The number of digits that distinguishes nearly all of some values. */
  const digitsOf = (values) => {
    const known = [...new Set(values.filter((value) => Number.isFinite(value)))];
    const apart = (digits) => new Set(known.map((value) => value.toPrecision(digits))).size;
    const wanted = 0.95 * apart(MOST_DIGITS);
    let digits = FEWEST_DIGITS;
    while (digits < MOST_DIGITS && apart(digits) < wanted) digits += 1;
    return digits;
  };

  /** A value with its standard deviation, if it has one. */
  const amount = (value, deviation, digits) =>
    deviation > 0 ? `${number(value, digits)} ± ${number(deviation, 2)}` : number(value, digits);

  const percent = (share) =>
    share === null || share === undefined ? "–" : `${number(100 * share, share >= 0.1 ? 2 : 1)}\u00a0%`;

  /** A number of things: "1 design", "3 designs". */
  const count = (many, one, several = `${one}s`) => `${number(many, 7)} ${many === 1 ? one : several}`;

  /** The unit in a label such as "cost [s]"; empty if there is none. */
  const unit = (label) => (/\[([^\]]*)\]\s*$/.exec(label ?? "") ?? ["", ""])[1];

  /** An element with text in it; the only way in which texts of users enter a page. */
  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  parts.text = { clean, short, drawable, number, digitsOf, MOST_DIGITS, amount, percent, count, unit, element };
})();
