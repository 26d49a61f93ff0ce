"use strict";
// From panels to the options of ECharts: the position of each panel, its axes and ticks, and what is at a pixel.
(() => {
  const { parts } = window.flexiboCharts;
  const { short, drawable } = parts.text;
  const { ticksOf, zoomed } = parts.axes;
  const { FONT, widthOf } = parts.looks;

  const TICK = 11.5; // pixels of the font of ticks
  const NAME = 12;
  const fitting = (text, room, size) => short(text, Math.max(6, Math.floor(room / (0.54 * size))));

  // The nearest tick: ECharts may return a value with another last digit.
  const textAt =
    ({ at, texts }) =>
    (value) => {
      let best = 0;
      at.forEach((tick, i) => {
        if (Math.abs(tick - value) < Math.abs(at[best] - value)) best = i;
      });
      return drawable(texts[best] ?? "");
    };

  const axisOption = (axis, index, look, room, ticks, isUpright, nameGap) => ({
    gridIndex: index,
    type: "value",
    min: axis.min,
    max: axis.max,
    inverse: axis.inverse ?? false,
    show: !axis.isHidden,
    silent: true,
    name: drawable(fitting(axis.label, room, NAME)),
    nameLocation: "middle",
    nameGap,
    nameRotate: isUpright ? 90 : 0,
    nameTextStyle: { color: look.ink, fontSize: NAME, fontFamily: FONT },
    axisLine: { show: true, onZero: false, lineStyle: { color: look.axis } },
    axisTick: { show: !axis.categories, length: 4, customValues: ticks.at, lineStyle: { color: look.axis } },
    axisLabel: {
      customValues: ticks.at,
      formatter: textAt(ticks),
      color: look.soft,
      fontSize: TICK,
      fontFamily: FONT,
      hideOverlap: !isUpright,
      margin: 8,
      showMinLabel: true,
      showMaxLabel: true,
    },
    splitLine: { show: !axis.categories, lineStyle: { color: look.rule } },
  });

  // The number of ticks that fit, given the widest text.
  const ticksAcross = (axis, width) => {
    if (axis.categories) {
      const limit = width < 420 ? 8 : 16;
      const widest = Math.max(10, ...axis.categories.map((category) => widthOf(short(category, limit), TICK)));
      return ticksOf(axis, Math.floor(width / (widest + 14)), limit);
    }
    return ticksOf(axis, Math.max(2, Math.floor(width / 66)));
  };

  const panelLayout = (panel, index, box, look, space) => {
    const height = box.height - (space?.top ?? 12) - (space?.bottom ?? 46);
    const ticks = ticksOf(panel.y, Math.max(2, Math.floor(height / 46)), box.width < 480 ? 13 : 26);
    const labels = panel.y.isHidden ? 0 : Math.max(12, ...ticks.texts.map((text) => widthOf(text, TICK)));
    const left = space?.left ?? (panel.y.isHidden ? 18 : Math.ceil(labels) + (panel.y.label ? 36 : 16));
    const width = Math.max(40, box.width - left - (space?.right ?? 18));
    const room = { left: box.left + left, top: box.top + (space?.top ?? 12), width, height };
    const across = panel.x.isHidden ? { at: [], texts: [] } : ticksAcross(panel.x, width);
    return {
      rect: room,
      grid: { ...room, containLabel: false, outerBoundsMode: "none" },
      xAxis: axisOption(panel.x, index, look, width, across, false, 27),
      yAxis: axisOption(
        panel.y,
        index,
        look,
        height,
        panel.y.isHidden ? { at: [], texts: [] } : ticks,
        true,
        labels + 19,
      ),
    };
  };

  /** The panels of a chart side by side, with their zoom: rectangles, axes and options of ECharts. */
  const layout = (picture, width, zoom, look) => {
    const { columns, panelHeight } = picture;
    const boxWidth = width / columns;
    const panels = picture.panels.map((panel, index) => ({
      x: zoomed(panel.x, zoom.get(index)?.x),
      y: zoomed(panel.y, zoom.get(index)?.y),
    }));
    const made = panels.map((panel, index) => {
      const box = {
        left: (index % columns) * boxWidth,
        top: Math.floor(index / columns) * panelHeight,
        width: boxWidth,
        height: panelHeight,
      };
      return panelLayout(panel, index, box, look, picture.space);
    });
    return {
      panels,
      rects: made.map((one) => one.rect),
      height: Math.ceil(panels.length / columns) * panelHeight,
      option: {
        grid: made.map((one) => one.grid),
        xAxis: made.map((one) => one.xAxis),
        yAxis: made.map((one) => one.yAxis),
      },
    };
  };

  /** The position of a point of a panel, in pixels from the corner of the chart. */
  const pixelOf = ({ panels, rects }, { panel, x, y }) => {
    const [{ left, top, width, height }, axes] = [rects[panel], panels[panel]];
    const across = (x - axes.x.min) / (axes.x.max - axes.x.min);
    const up = (y - axes.y.min) / (axes.y.max - axes.y.min);
    return [left + width * (axes.x.inverse ? 1 - across : across), top + height * (axes.y.inverse ? up : 1 - up)];
  };

  /** The point of a panel at a pixel. */
  const placeAt = ({ panels, rects }, panel, [px, py]) => {
    const [{ left, top, width, height }, axes] = [rects[panel], panels[panel]];
    return [
      axes.x.min + ((px - left) / width) * (axes.x.max - axes.x.min),
      axes.y.min + (1 - (py - top) / height) * (axes.y.max - axes.y.min),
    ];
  };

  /** The panel at a pixel, or within some pixels of it; -1 if there is none. */
  const panelAt = ({ rects }, [px, py], around = 10) =>
    rects.findIndex(
      ({ left, top, width, height }) =>
        px >= left - around && px <= left + width + around && py >= top - around && py <= top + height + around,
    );

  const segmentDistance = ([px, py], [ax, ay], [bx, by]) => {
    const [dx, dy] = [bx - ax, by - ay];
    const share = Math.min(1, Math.max(0, ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy || 1)));
    return Math.hypot(px - ax - share * dx, py - ay - share * dy);
  };

  const NEAR = { point: 20, line: 9 };

  /** The distance of a mark from a pixel, as defined by the chart. */
  const DISTANCES = {
    point: (dx, dy) => Math.hypot(dx, dy),
    cell: (dx, dy) => Math.hypot(dx, dy),
    x: (dx) => Math.abs(dx),
    y: (_, dy) => Math.abs(dy),
  };

  /** The distance of an item from a pixel of a panel: its nearest mark, or the line through its marks. */
  const distanceOf = (item, how, placed, panel, at) => {
    let least = Infinity;
    let before = null;
    for (const mark of item.marks) {
      if (mark.panel !== panel) continue;
      const [x, y] = pixelOf(placed, mark);
      if (how !== "line") least = Math.min(least, DISTANCES[how](x - at[0], y - at[1]));
      else if (before) least = Math.min(least, segmentDistance(at, before, [x, y]));
      before = [x, y];
    }
    return least;
  };

  /** The item at a pixel; -1 if there is none. Designs of the front win over others near them. */
  const itemAt = (picture, placed, at, isSeen) => {
    const panel = panelAt(placed, at);
    if (panel < 0) return -1;
    const how = picture.find ?? "point";
    let [best, least] = [-1, NEAR[how] ?? Infinity];
    picture.items.forEach((item, i) => {
      if (!isSeen(item)) return;
      const distance = distanceOf(item, how, placed, panel, at);
      // A measured design in a map is found only if the pointer is on it; elsewhere the cell is.
      const onMap = distance < 8 ? -1 : Infinity;
      const weighed = !item.isFirst ? distance : how === "cell" ? onMap : distance - 3;
      if (weighed < least) [best, least] = [i, weighed];
    });
    return best;
  };

  parts.layout = { layout, pixelOf, placeAt, panelAt, itemAt };
})();
