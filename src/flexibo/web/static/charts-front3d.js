"use strict";
// The front of three objectives in three dimensions: a box that is rotated by dragging, without perspective.
(() => {
  const { parts } = window.flexiboCharts;
  const { short, drawable } = parts.text;
  const { valued, ticksOf, usable } = parts.axes;
  const { styleOf, dots, shapes, widthOf, FONT } = parts.looks;
  const { valueOf, labelOf, itemsOf, kindLegend, tableOf, summaryOf, leftOut, byKind, isEmpty, chosenAxes, walkOf } =
    parts.fronts;

  const REACH = 1.72; // half the visible width; the box extends from -1 to 1 before it is rotated
  const MOST_STEMS = 150;

  /** The position of a point of the box on the screen. */
  const projection = ({ azimuth, elevation }) => {
    const [ca, sa, ce, se] = [Math.cos(azimuth), Math.sin(azimuth), Math.cos(elevation), Math.sin(elevation)];
    return ([x, y, z]) => [x * ca - y * sa, z * ce + (x * sa + y * ca) * se];
  };
  const depthOf =
    ({ azimuth, elevation }) =>
    ([x, y, z]) =>
      (x * Math.sin(azimuth) + y * Math.cos(azimuth)) * Math.cos(elevation) - z * Math.sin(elevation);

  const scaled = (axis, value) => (2 * (axis.at(value) - axis.min)) / (axis.max - axis.min) - 1;
  const tickPlaces = (axis, count) => {
    const { at, texts } = ticksOf(axis, count, 10);
    return at.map((tick, i) => ({ at: (2 * (tick - axis.min)) / (axis.max - axis.min) - 1, text: texts[i] }));
  };

  // The point at t on axis j; the other two coordinates are given in order.
  const along = (j, t, others) => {
    const place = [...others];
    place.splice(j, 0, t);
    return place;
  };
  const CORNERS = [
    [-1, -1],
    [-1, 1],
    [1, -1],
    [1, 1],
  ];

  /** The edge at which an axis is labelled: the lowest for the horizontal axes, the leftmost for the vertical one. */
  const labelledEdge = (j, project) => {
    const choices = j === 2 ? CORNERS : CORNERS.filter((corner) => corner[1] === -1);
    const score = (corner) => project(along(j, 0, corner))[j === 2 ? 0 : 1];
    return choices.reduce((best, corner) => (score(corner) < score(best) ? corner : best));
  };

  /** The lines of the three walls behind the points: [[from, to], ...]. */
  const wallLines = (axes, turn) => {
    const depth = depthOf(turn);
    const behind = [0, 1, 2].map((j) => (depth(along(j, 1, [0, 0])) > depth(along(j, -1, [0, 0])) ? 1 : -1));
    const lines = [];
    for (let j = 0; j < 3; j += 1) {
      for (const { at } of [...tickPlaces(axes[j], 4), { at: -1 }, { at: 1 }]) {
        [0, 1, 2]
          .filter((k) => k !== j)
          .forEach((wall) => {
            const run = 3 - j - wall;
            const ends = [-1, 1].map((t) => {
              const place = [0, 0, 0];
              [place[j], place[wall], place[run]] = [at, behind[wall], t];
              return place;
            });
            lines.push(ends);
          });
      }
    }
    return lines;
  };

  const lineSeries = (lines, project, style, z) =>
    shapes(0, lines.length, z, (i, coord) => {
      const [[x1, y1], [x2, y2]] = lines[i].map((place) => coord(...project(place)));
      return { type: "line", shape: { x1, y1, x2, y2 }, style };
    });

  /** The texts along the labelled edges: ticks, and the names of the axes. */
  const writings = (axes, project) =>
    axes.flatMap((axis, j) => {
      const edge = labelledEdge(j, project);
      const middle = project(along(j, 0, edge));
      const side = Math.sign(middle[0]) || -1;
      const ticks = tickPlaces(axis, 4).map(({ at, text }) => ({ at: project(along(j, at, edge)), text, side, j }));
      const place = j === 2 ? project(along(j, 1, edge)) : middle;
      return [...ticks, { at: place, text: axis.label, side, j, isName: true }];
    });

  // Ticks are left of the vertical axis and its name is above it; those of the horizontal axes are below them.
  const placedText = ({ text, side, j, isName }, [x, y], room, look) => {
    const said = isName ? short(text, Math.floor(room.width / 8)) : text;
    const long = isName ? widthOf(said, 12, "600") : 0;
    const font = `${isName ? "600 " : ""}12px ${FONT}`;
    const style = { text: drawable(said), font, fill: isName ? look.ink : look.soft };
    const within = (left) => Math.max(room.x, Math.min(room.x + room.width - long, left));
    if (j === 2 && isName)
      return { x: within(x - 20), y: y - 12, style: { ...style, align: "left", verticalAlign: "bottom" } };
    if (j === 2) return { x: x - 8, y, style: { ...style, align: "right", verticalAlign: "middle" } };
    const distance = isName ? 34 : 10;
    const left = side < 0 ? within(x - 0.9 * distance - long) + long : within(x + 0.9 * distance);
    return { x: left, y: y + distance, style: { ...style, align: side < 0 ? "right" : "left", verticalAlign: "top" } };
  };

  const textSeries = (axes, project, look) => {
    const list = writings(axes, project);
    const text = (i, coord, room) => ({ type: "text", ...placedText(list[i], coord(...list[i].at), room, look) });
    return shapes(0, list.length, 9, text, false);
  };

  /** The box with its labelled edges, and a stem from each design of the front to the floor. */
  const boxSeries = (axes, stems, { look, turn }) => {
    const project = projection(turn);
    const edges = [0, 1, 2].map((j) => [-1, 1].map((t) => along(j, t, labelledEdge(j, project))));
    const fallen = stems.slice(0, MOST_STEMS).map((place) => [place, [place[0], place[1], -1]]);
    return [
      lineSeries(wallLines(axes, turn), project, { stroke: look.rule, lineWidth: 1 }, 0),
      lineSeries(edges, project, { stroke: look.axis, lineWidth: 1.3 }, 1),
      lineSeries(fallen, project, { stroke: look.axis, lineWidth: 1, lineDash: [2, 3] }, 2),
      textSeries(axes, project, look),
    ];
  };

  const scaledAxes = (view, shown) =>
    shown.map((axis) => {
      const values = view.points.map((point) => valueOf(point, axis));
      return valued({ label: labelOf(axis), values, log: axis.log, margin: 0.08 });
    });

  const front3d = (view, context) => {
    if (isEmpty(view)) return { empty: isEmpty(view) };
    const shown = chosenAxes(view, context.options.axes).slice(0, 3);
    if (shown.length < 3) return parts.pictures.front(view, context);
    const { look, hidden, turn } = context;
    const axes = scaledAxes(view, shown);
    const project = projection(turn);
    const placeOf = (point) => axes.map((axis, j) => scaled(axis, valueOf(point, shown[j]) ?? NaN));
    const items = itemsOf(view, (point) => {
      const [x, y] = project(placeOf(point));
      return usable(x) && usable(y) ? [{ panel: 0, x, y }] : [];
    });
    const seen = items.filter((item) => item.marks.length && !hidden.has(item.legend));
    const kinds = [...byKind(view).keys()].filter((kind) => !hidden.has(kind));
    const placesOf = (kind) => seen.filter((item) => item.legend === kind).map(({ marks: [mark] }) => [mark.x, mark.y]);
    const stems = seen.filter((item) => item.isFirst).map((item) => placeOf(item.point));
    const bare = { label: "", at: (value) => value, min: -REACH, max: REACH, isHidden: true };
    return {
      panels: [{ x: bare, y: { ...bare, min: -1.78, max: 1.58 } }],
      columns: 1,
      panelHeight: 440,
      space: { left: 10, right: 10, top: 6, bottom: 6 },
      items,
      drag: "turn",
      walk: walkOf(items, shown[0]),
      series: [
        ...boxSeries(axes, stems, context),
        ...kinds.map((kind) => dots(0, placesOf(kind), styleOf(kind, look), look)),
      ],
      legend: kindLegend(view, look),
      summary: summaryOf(view, shown),
      table: () => tableOf(view),
      notes: leftOut(view),
    };
  };

  parts.pictures.front3d = front3d;
})();
