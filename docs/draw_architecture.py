"""Draws the packages of flexibo and their imports: ``python docs/draw_architecture.py`` writes docs/architecture.svg.

The layers come from the import-linter contract in pyproject.toml, the arrows from the import statements of the source.
An arrow is left out if other arrows imply it, so that the picture shows the order of the packages and stays legible.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = None

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "flexibo"
Graph = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class House:
    """The packages and top modules of flexibo.

    Attributes:
        layers: Names of the rooms from the highest layer to the lowest.
        lines: Lines of Python of each room.
        imports: The rooms that each room imports.
        mind: Rooms that decide and import nothing of the world.
        world: Rooms that measure, store and run.
    """

    layers: tuple[tuple[str, ...], ...]
    lines: Mapping[str, int]
    imports: Graph
    mind: frozenset[str]
    world: frozenset[str]

    def layer(self, room: str) -> int:
        """The index of a room's layer, 0 for the highest."""
        return next(i for i, rooms in enumerate(self.layers) if room in rooms)


def read_house() -> House:
    """Read rooms, layers and imports from the project."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layered = next(contract for contract in contracts if contract["type"] == "layers")
    forbidden = next(contract for contract in contracts if contract["type"] == "forbidden")
    modules = module_imports()
    lines: dict[str, int] = {}
    imports: dict[str, set[str]] = {}
    for module, targets in modules.items():
        room = room_of(module)
        if not room:
            continue
        lines[room] = lines.get(room, 0) + file_of(module).read_text(encoding="utf-8").count("\n")
        imports.setdefault(room, set()).update(room_of(target) for target in targets)
    return House(
        layers=tuple(tuple(room_of(name.strip()) for name in layer.split("|")) for layer in layered["layers"]),
        lines=lines,
        imports={room: frozenset(targets - {room, ""}) for room, targets in imports.items()},
        mind=frozenset(map(room_of, forbidden["source_modules"])),
        world=frozenset(map(room_of, forbidden["forbidden_modules"])) - {"study"},
    )


@cache
def module_imports() -> dict[str, frozenset[str]]:
    """The modules that each module of flexibo imports, by full name."""
    files = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}
    return {name: frozenset(imported_by(path, files)) - {name} for name, path in files.items()}


def imported_by(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    """The modules of flexibo that the import statements of a file name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in modules:
                    yield inner
                elif node.module in modules:
                    yield node.module


def name_of(path: Path) -> str:
    """The full name of the module in a file."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def file_of(module: str) -> Path:
    """The file of a module."""
    path = SOURCE.parent / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def room_of(module: str) -> str:
    """The package or top module that a module belongs to; empty for flexibo itself and its start-up script."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] != "__main__" else ""


def circles(graph: Graph) -> list[frozenset[str]]:
    """Groups of two or more nodes that can all reach each other."""
    reached = {node: reachable(node, graph) for node in graph}
    groups = {
        frozenset(other for other in reached[node] if node in reached.get(other, ())) | {node}
        for node in graph
        if node in reached[node]
    }
    return sorted(groups, key=sorted)


def reachable(start: str, graph: Graph) -> frozenset[str]:
    """The nodes that can be reached from a node by one arrow or more."""
    found: set[str] = set()
    waiting = list(graph.get(start, ()))
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(graph.get(node, ()))
    return frozenset(found)


def essential(graph: Graph) -> dict[str, frozenset[str]]:
    """The graph without arrows that other arrows imply."""
    reached = {node: reachable(node, graph) for node in graph}
    return {
        node: frozenset(t for t in targets if not any(t in reached[other] for other in targets if other != t))
        for node, targets in graph.items()
    }


# Layout: rows are layers. A long arrow passes through a point in every row between its ends.


@dataclass(frozen=True)
class Layout:
    """Where everything is: the nodes of each row from left to right, and the centre of each node."""

    rows: tuple[tuple[str, ...], ...]
    x: Mapping[str, float]
    paths: Mapping[tuple[str, str], tuple[str, ...]]


def lay_out(house: House) -> Layout:
    """Place the rooms so that few arrows cross and long arrows pass between rooms."""
    rows = [list(rooms) for rooms in house.layers]
    paths = {}
    for room, targets in sorted(essential(house.imports).items()):
        for target in sorted(targets):
            between = range(house.layer(room) + 1, house.layer(target))
            points = [f"{room}>{target}@{row}" for row in between]
            for row, point in zip(between, points, strict=True):
                rows[row].append(point)
            paths[room, target] = (room, *points, target)
    links = [pair for path in paths.values() for pair in itertools.pairwise(path)]
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for upper, lower in links:
        below.setdefault(upper, []).append(lower)
        above.setdefault(lower, []).append(upper)
    ordered = order(rows, above, below)
    return Layout(tuple(map(tuple, ordered)), coordinates(ordered, above, below, house), paths)


def order(rows: list[list[str]], above: Mapping[str, list[str]], below: Mapping[str, list[str]]) -> list[list[str]]:
    """Sort each row by the mean position of its neighbours, from many starts; keep the order with fewest crossings."""
    rng = random.Random(0)
    best, fewest = [list(row) for row in rows], crossings(rows, below)
    for _ in range(60):
        for sweep in range(12):
            sort_rows(rows, above if sweep % 2 == 0 else below, down=sweep % 2 == 0)
            if (count := crossings(rows, below)) < fewest:
                best, fewest = [list(row) for row in rows], count
        for row in rows:
            rng.shuffle(row)
    return best


def sort_rows(rows: list[list[str]], neighbours: Mapping[str, list[str]], *, down: bool) -> None:
    """Sort every row by the mean position of its neighbours in the row before it, downward or upward."""
    for index in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
        fixed = {node: i for i, node in enumerate(rows[index - 1 if down else index + 1])}
        place = {}
        for i, node in enumerate(rows[index]):
            found = [fixed[n] for n in neighbours.get(node, ())]
            place[node] = sum(found) / len(found) if found else i
        rows[index].sort(key=place.__getitem__)


def crossings(rows: list[list[str]], below: Mapping[str, list[str]]) -> int:
    """The number of pairs of links between neighbouring rows that cross."""
    total = 0
    for upper, lower in itertools.pairwise(rows):
        position = {node: i for i, node in enumerate(lower)}
        ends = [position[target] for node in upper for target in sorted(below.get(node, ()), key=position.__getitem__)]
        total += sum(a > b for i, a in enumerate(ends) for b in ends[i + 1 :])
    return total


def coordinates(
    rows: list[list[str]], above: Mapping[str, list[str]], below: Mapping[str, list[str]], house: House
) -> dict[str, float]:
    """Move each node towards the mean of its neighbours, keeping order and distances within its row."""
    x = {}
    for row in rows:
        left = 0.0
        for node in row:
            x[node] = left + width(node, house) / 2
            left += width(node, house) + GAP
        for node in row:
            x[node] -= left / 2
    for step in range(200):
        for index in range(len(rows)) if step % 2 else range(len(rows) - 1, -1, -1):
            row = rows[index]
            wanted = {}
            for node in row:
                around = [*above.get(node, ()), *below.get(node, ())]
                weights = [straightness(node, other, house) for other in around]
                pull = sum(weight * x[other] for weight, other in zip(weights, around, strict=True))
                wanted[node] = pull / sum(weights) if around else x[node]
            x.update(separated(row, wanted, house))
    return x


def straightness(one: str, other: str, house: House) -> int:
    """How strongly two linked nodes should be above each other: most for two points of the same long arrow."""
    return (1, 3, 9)[(one not in house.lines) + (other not in house.lines)]


def separated(row: list[str], wanted: Mapping[str, float], house: House) -> dict[str, float]:
    """Positions close to the wanted ones without overlaps: groups of touching nodes share their mean shift."""
    groups: list[tuple[list[str], list[float], float]] = []
    for node in row:
        members, offsets, centre = [node], [0.0], wanted[node]
        while groups:
            before, shifts, start = groups[-1]
            distance = (width(before[-1], house) + width(members[0], house)) / 2 + GAP
            if start + shifts[-1] + distance <= centre:
                break
            groups.pop()
            members = before + members
            offsets = shifts + [shifts[-1] + distance + offset for offset in offsets]
            centre = sum(wanted[n] - o for n, o in zip(members, offsets, strict=True)) / len(members)
        groups.append((members, offsets, centre))
    return {n: centre + o for members, offsets, centre in groups for n, o in zip(members, offsets, strict=True)}


# Drawing

HEIGHT, PITCH, GAP, MARGIN, TOP = 44.0, 80.0, 22.0, 28.0, 92.0
INK, PALE = "#1f2933", "#52606d"
FILLS = {
    "mind": ("#d9ecf7", "#0b6394", "the mind: decides, without files, clocks or devices"),
    "world": ("#fbe6d0", "#b45309", "the world: measures, stores and runs"),
    "study": ("#e6dcf5", "#6d28d9", "the study, where mind and world meet"),
    "front": ("#dff2e4", "#1b7a3d", "front ends: files, pictures, pages, commands"),
    "base": ("#eceff2", "#7b8794", "shared by all"),
}
FONT = 'font-family="Helvetica, Arial, sans-serif"'


def width(node: str, house: House) -> float:
    """The width of a room, which grows with its size, or of a point of an arrow."""
    return 96.0 + 0.85 * house.lines[node] ** 0.5 if node in house.lines else 6.0


def kind(room: str, house: House) -> str:
    """Which part of the house a room belongs to."""
    if room in house.mind:
        return "mind"
    if room in house.world:
        return "world"
    if room == "study":
        return "study"
    return "front" if house.layer(room) < house.layer("study") else "base"


def draw(house: House) -> str:
    """The picture as SVG."""
    layout = lay_out(house)
    left = min(layout.x[n] - width(n, house) / 2 for row in layout.rows for n in row)
    right = max(layout.x[n] + width(n, house) / 2 for row in layout.rows for n in row)
    shift, wide = MARGIN - left, right - left + 2 * MARGIN
    x = {node: value + shift for node, value in layout.x.items()}
    high = TOP + PITCH * len(layout.rows) - (PITCH - HEIGHT) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" role="img" '
        f'aria-label="The packages of flexibo in layers, with arrows to what they import">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0,0.8 L7,4 L0,7.2 z" fill="{PALE}"/></marker></defs>',
        f'<rect width="{wide:.0f}" height="{high:.0f}" fill="#ffffff"/>',
        *legend(wide),
        *(arrow(path, x, house, layout) for path in layout.paths.values()),
        *(box(room, x[room], house) for rooms in house.layers for room in rooms),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def legend(wide: float) -> Iterator[str]:
    """What the colours mean, in two columns."""
    for index, (fill, stroke, text) in enumerate(FILLS.values()):
        x, y = MARGIN + index // 3 * wide / 2, 20 + index % 3 * 20
        yield f'<rect x="{x:.0f}" y="{y - 11}" width="14" height="14" rx="3" fill="{fill}" stroke="{stroke}"/>'
        yield f'<text x="{x + 22:.0f}" y="{y}" {FONT} font-size="12.5" fill="{INK}">{escape(text)}</text>'


def box(room: str, x: float, house: House) -> str:
    """A room with its name and its lines of code."""
    fill, stroke, _ = FILLS[kind(room, house)]
    y, wide = TOP + PITCH * house.layer(room), width(room, house)
    return (
        f'<g data-room="{room}">'
        f'<rect x="{x - wide / 2:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{HEIGHT:.0f}" rx="7" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="1.3"/>'
        f'<text x="{x:.1f}" y="{y + 19:.1f}" {FONT} font-size="14.5" font-weight="600" fill="{INK}" '
        f'text-anchor="middle">{room}</text>'
        f'<text x="{x:.1f}" y="{y + 35:.1f}" {FONT} font-size="11" fill="{PALE}" text-anchor="middle">'
        f"{house.lines[room]:,} lines</text></g>"
    )


def arrow(path: tuple[str, ...], x: Mapping[str, float], house: House, layout: Layout) -> str:
    """A smooth line from a room down to one that it imports."""
    first, last = path[0], path[-1]
    row, end = house.layer(first), house.layer(last)
    points = [(port(first, path[1], x, house, layout, down=True), TOP + PITCH * row + HEIGHT)]
    for i, node in enumerate(path[1:-1], 1):  # straight beside the rooms of a row, curved between rows
        y = TOP + PITCH * (row + i)
        points += [(x[node], y), (x[node], y + HEIGHT)]
    points += [(port(last, path[-2], x, house, layout, down=False), TOP + PITCH * end - 1.5)]
    curve = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        half = (y1 - y0) / 2
        curve += f" C{x0:.1f},{y0 + half:.1f} {x1:.1f},{y1 - half:.1f} {x1:.1f},{y1:.1f}"
    return (
        f'<path data-from="{first}" data-to="{last}" d="{curve}" fill="none" stroke="{PALE}" stroke-width="1.2" '
        f'marker-end="url(#tip)"/>'
    )


def port(room: str, towards: str, x: Mapping[str, float], house: House, layout: Layout, *, down: bool) -> float:
    """Where an arrow leaves or enters a room: its arrows share the edge in the order of their other ends."""
    side = [path[1] if down else path[-2] for path in layout.paths.values() if path[0 if down else -1] == room]
    side.sort(key=x.__getitem__)
    usable = width(room, house) * 0.62
    step = usable / len(side)
    return x[room] - usable / 2 + step * (side.index(towards) + 0.5)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "architecture.svg", help="file of the picture")
    parser.parse_args().out.write_text(draw(read_house()), encoding="utf-8")


if __name__ == "__main__":
    main()
