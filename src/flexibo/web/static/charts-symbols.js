"use strict";
// Thousands of symbols and lines at once. A symbol is drawn once and then copied, and all lines of a kind are one
// element, so that ten thousand designs take little more time than ten.
(() => {
  const { parts } = window.flexiboCharts;
  const { graphic } = window.echarts;

  // Corners in a square from -1 to 1, alternating x and y; a circle has none.
  const CORNERS = {
    circle: null,
    diamond: [0, -1, 1, 0, 0, 1, -1, 0],
    square: [-0.85, -0.85, 0.85, -0.85, 0.85, 0.85, -0.85, 0.85],
    triangle: [0, -1, 1, 0.8, -1, 0.8],
    cross: [-1, -0.7, -0.7, -1, 0, -0.3, 0.7, -1, 1, -0.7, 0.3, 0, 1, 0.7, 0.7, 1, 0, 0.3, -0.7, 1, -1, 0.7, -0.3, 0],
    plus: [
      -0.25, -1, 0.25, -1, 0.25, -0.25, 1, -0.25, 1, 0.25, 0.25, 0.25, 0.25, 1, -0.25, 1, -0.25, 0.25, -1, 0.25, -1,
      -0.25, -0.25, -0.25,
    ],
    star: [
      0, -1, 0.28, -0.35, 1, -0.3, 0.45, 0.15, 0.62, 0.85, 0, 0.45, -0.62, 0.85, -0.45, 0.15, -1, -0.3, -0.28, -0.35,
    ],
  };

  const outline = (pen, form, centre, radius) => {
    const corners = CORNERS[form];
    pen.beginPath();
    if (!corners) return pen.arc(centre, centre, radius, 0, 2 * Math.PI);
    for (let i = 0; i < corners.length; i += 2)
      pen.lineTo(centre + radius * corners[i], centre + radius * corners[i + 1]);
    return pen.closePath();
  };

  const stamps = new Map();

  /** A small canvas with one symbol in its centre. */
  const stampOf = ({ form, radius, fill, stroke, lineWidth, opacity }, scale) => {
    const key = [form, radius, fill, stroke, lineWidth, opacity, scale].join();
    if (!stamps.has(key)) {
      const made = document.createElement("canvas");
      made.width = Math.ceil(scale * (2 * radius + 4));
      made.height = made.width;
      const pen = made.getContext("2d");
      pen.scale(scale, scale);
      Object.assign(pen, { fillStyle: fill, strokeStyle: stroke, lineWidth, lineJoin: "round", globalAlpha: opacity });
      outline(pen, form, made.width / scale / 2, radius);
      pen.fill();
      if (lineWidth) pen.stroke();
      stamps.set(key, made);
    }
    return stamps.get(key);
  };

  graphic.registerShape(
    "flexiboSymbols",
    graphic.extendShape({
      shape: { places: [], room: null, symbol: null },
      buildPath(path) {
        this.pen = path.getContext();
      },
      afterBrush() {
        const { places, symbol } = this.shape;
        const scale = window.devicePixelRatio || 1;
        const stamp = stampOf(symbol, scale);
        const size = stamp.width / scale;
        for (const [x, y] of places) this.pen.drawImage(stamp, x - size / 2, y - size / 2, size, size);
      },
      getBoundingRect() {
        const { x, y, width, height } = this.shape.room;
        return new graphic.BoundingRect(x, y, width, height);
      },
    }),
  );

  graphic.registerShape(
    "flexiboLines",
    graphic.extendShape({
      shape: { lines: [], room: null, look: null },
      buildPath(path) {
        this.pen = path.getContext();
      },
      afterBrush() {
        const { lines, look } = this.shape;
        const { pen } = this;
        pen.save();
        Object.assign(pen, { strokeStyle: look.stroke, lineWidth: look.lineWidth, globalAlpha: look.opacity });
        pen.setLineDash(look.lineDash ?? []);
        for (const line of lines) {
          pen.beginPath();
          for (const [x, y] of line) pen.lineTo(x, y);
          pen.stroke(); // one by one: crossings of many lines are darker
        }
        pen.restore();
      },
      getBoundingRect() {
        const { x, y, width, height } = this.shape.room;
        return new graphic.BoundingRect(x, y, width, height);
      },
    }),
  );

  parts.symbols = { CORNERS };
})();
