"""What the examples of today's systems save: ``python -m benchmarks.examples``.

Each example was recorded once: random designs of its study file, measured completely, in a small table with their costs
(benchmarks/tables). Studies search the table, so that all methods see the same readings on any machine, and every
evaluation is charged as recorded. `flexibo` asks for one objective at a time; `ehvi` measures everything. Where one
measurement yields everything (an encoding of the whole clip also shows its time), `ehvi` is charged for that one alone.

A study has arrived when its confirmed front, the designs of which everything was measured and within the limits, misses
at most 10 %, 5 % or 2 % of the hypervolume of the front of the table. Printed are medians over seeds of what was spent
until then. ``python -m benchmarks.examples --record video.db video`` writes the table of a stored study.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from flexibo import Study
from flexibo._internal.arrays import FloatArray
from flexibo.compare.problems.base import true_front, worst_of_interest
from flexibo.compare.problems.recorded_tables import Lookup
from flexibo.objectives import Objective, purchases
from flexibo.pareto import hypervolume
from flexibo.space import Design, Space
from flexibo.studyfile import read_study_file

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "benchmarks" / "tables"
EXAMPLES = {"video": True, "transformer": False, "postgresql": True}
"""The examples, and whether their most expensive measurement yields all objectives."""
KINDS = {"video": "codec", "transformer": "quantisation", "postgresql": "synchronous_commit"}
"""The option by which the designs of an example are coloured."""
METHODS = ("flexibo", "ehvi", "ehvi/cost", "random-coupled")
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#999999")
TARGETS, SEEDS, MOST = (0.1, 0.05, 0.02), 10, 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """A recorded example: its designs as a pool, their values (m, n) and the cost of each objective (m, n)."""

    space: Space
    objectives: tuple[Objective, ...]
    values: FloatArray
    costs: FloatArray

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the objectives that are optimised."""
        return tuple(one.name for one in self.objectives if one.optimise)

    def losses(self) -> FloatArray:
        """The losses (m, k) of the optimised objectives of the designs within all limits."""
        optimised = [j for j, one in enumerate(self.objectives) if one.optimise]
        within = np.ones(len(self.values), dtype=np.bool_)
        for j, one in enumerate(self.objectives):
            within &= self.values[:, j] <= (np.inf if one.at_most is None else one.at_most)
            within &= self.values[:, j] >= (-np.inf if one.at_least is None else one.at_least)
        signs = [self.objectives[j].loss(1.0) for j in optimised]
        return np.asarray(self.values[within][:, optimised] * signs)

    def reference(self) -> FloatArray:
        """The reference point (k,), in losses: the third quartiles of the designs within all limits."""
        return worst_of_interest(self.losses(), true_front(self.losses()))

    def cost_of_all(self) -> tuple[float, tuple[int, ...]]:
        """What measuring all designs costs, values that designs share once, and how often each is measured."""
        total, counts, pool = 0.0, [], self.space.enumerate()
        for purchase in purchases(self.objectives):
            first = np.unique(pool.keys(purchase.options), return_index=True)[1]
            total += float(self.costs[first, purchase.members[0]].sum())
            counts.append(len(first))
        return total, tuple(counts)

    def together(self) -> Recorded:
        """The same example where one measurement, the most expensive one, yields all objectives."""
        lead = int(self.costs.mean(axis=0).argmax())
        name = self.objectives[lead].name
        changed = [replace(one, measured_with=None if one.name == name else name) for one in self.objectives]
        return replace(self, objectives=tuple(changed))


def recorded(example: str, folder: Path = TABLES) -> Recorded:
    """The recorded table of an example, for its study file."""
    file = read_study_file(ROOT / "examples" / example / "study.yaml")
    with (folder / f"{example}.csv").open(newline="", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    designs = file.space.designs([{name: _value(row[name]) for name in file.space.names} for row in rows])
    space = file.space.limited_to(designs)
    asked = {one.members: f"cost:{one.objective}" for one in purchases(file.objectives)}
    prices = {j: name for members, name in asked.items() for j in members[:1]}
    columns = [[float(row[one.name]) for row in rows] for one in file.objectives]
    costs = [[float(row[prices[j]]) if j in prices else 0.0 for row in rows] for j in range(len(file.objectives))]
    pool = space.enumerate()
    return Recorded(
        space,
        file.objectives,
        Lookup.of(designs, np.array(columns).T)(pool),
        Lookup.of(designs, np.array(costs).T)(pool),
    )


def _value(cell: str) -> object:
    """The value of an option: a whole number, a text, or None where the option does not apply."""
    return int(cell) if cell.isdecimal() else cell or None


def write_table(storage: str, path: Path) -> int:
    """Write the designs of a stored study that were measured completely, with their costs; the number of designs."""
    with Study.load(storage) as study:
        asked = purchases(study.objectives)
        found: dict[tuple[str, object], tuple[dict[str, float], float]] = {}
        designs: dict[Design, None] = {}
        for row in study.trace():
            designs.setdefault(row.design)
            if row.values:
                purchase = next(one for one in asked if one.objective == row.objective)
                found[row.objective, _key(row.design, purchase.options)] = (dict(row.values), row.cost)
        lines = []
        for design in designs:
            parts = [(one.objective, found.get((one.objective, _key(design, one.options)))) for one in asked]
            if all(part for _, part in parts):
                line: dict[str, object] = dict(design)
                for name, part in parts:
                    values, cost = part or ({}, 0.0)
                    line |= {of: f"{value:.5g}" for of, value in values.items()} | {f"cost:{name}": f"{cost:.4g}"}
                lines.append(line)
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return len(lines)


def _key(design: Design, options: Sequence[str] | None) -> tuple[object, ...]:
    return tuple(value for name, value in design.items() if options is None or name in options)


@dataclass(frozen=True, slots=True)
class Course:
    """A finished study: after each evaluation the cost so far and the share of the front that is missed; its counts."""

    method: str
    spent: tuple[float, ...]
    missed: tuple[float, ...]
    counts: tuple[int, ...]

    def arrival(self, target: float) -> float:
        """What was spent until at most this share was missed; infinity if that never happened."""
        return next((cost for cost, share in zip(self.spent, self.missed, strict=True) if share <= target), np.inf)


def search(task: tuple[str, str, int, float]) -> Course:
    """Search a table for a share of the cost of everything."""
    example, method, seed, most = task
    table = recorded(example)
    budget, reference = most * table.cost_of_all()[0], table.reference()
    best = hypervolume(true_front(table.losses()), reference)
    if EXAMPLES[example] and method != "flexibo":
        table = table.together()
    values, costs = (Lookup.of(table.space.enumerate(), of) for of in (table.values, table.costs))
    members = {one.objective: one.members for one in purchases(table.objectives)}
    signs = {one.name: one.loss(1.0) for one in table.objectives if one.optimise}
    worst = {name: float(loss * signs[name]) for name, loss in zip(table.names, reference, strict=True)}
    study = Study(table.space, table.objectives, method=method, budget=budget, reference=worst, seed=seed)
    while evaluation := study.ask():
        row = table.space.designs([evaluation.design])
        yielded = members[evaluation.objective]
        told = {table.objectives[j].name: float(values(row)[0, j]) for j in yielded}
        study.tell(evaluation, told, cost=float(costs(row)[0, yielded[0]]))
    trace = study.trace()
    counts = tuple(sum(row.objective == name for row in trace) for name in members)
    missed = tuple(max(0.0, 1.0 - row.hypervolume / best) for row in trace)
    return Course(method, tuple(row.cumulative_cost for row in trace), missed, counts)


def shown(example: str, methods: Sequence[str], targets: Sequence[float], courses: Sequence[Course]) -> Table:
    """What each method had spent when it missed at most the targets, and what it missed when the budget was spent."""
    table = recorded(example)
    everything, counts = table.cost_of_all()
    asked = ", ".join(one.objective for one in purchases(table.objectives))
    title = f"{example}: {len(table.values)} designs, everything costs {everything:.0f} s ({asked}: {counts})"
    drawn = Table(title=title)
    for column in ("method", *(f"until {target:.0%} missed [s]" for target in targets), "missed at the end", "asked"):
        drawn.add_column(column, justify="left" if column == "method" else "right")
    for method in methods:
        those = [course for course in courses if course.method == method]
        cells = []
        for target in targets:
            arrivals = [course.arrival(target) for course in those]
            middle, arrived = float(np.median(arrivals)), int(np.isfinite(arrivals).sum())
            cells.append(
                f"{middle:.0f} ({middle / everything:.0%})" if np.isfinite(middle) else f"{arrived}/{len(those)}"
            )
        ends = np.median([course.missed[-1] for course in those])
        numbers = np.median([course.counts for course in those], axis=0)
        drawn.add_row(method, *cells, f"{ends:.1%}", ", ".join(f"{number:g}" for number in numbers))
    return drawn


def draw(example: str, methods: Sequence[str], courses: Sequence[Course], path: Path) -> None:
    """Draw the designs of the table with their front, and what each method misses against what it has spent."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    table = recorded(example)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4.3), layout="constrained")
    columns = [j for j, one in enumerate(table.objectives) if one.optimise]
    x, y = columns[-1], columns[0]
    option, pool = KINDS[example], table.space.enumerate()
    front = set(map(tuple, true_front(table.losses())))
    signs = np.array([table.objectives[j].loss(1.0) for j in columns])
    best = np.array([tuple(row) in front for row in table.values[:, columns] * signs])
    kinds = np.array([str(design[option]) for design in pool])
    for kind, colour in zip(sorted(set(kinds)), COLOURS, strict=False):
        for chosen, size, alpha in ((kinds == kind) & ~best, 12, 0.35), ((kinds == kind) & best, 34, 1.0):
            label = f"{option}={kind}" if alpha == 1.0 else None
            left.scatter(*table.values[chosen][:, [x, y]].T, s=size, color=colour, alpha=alpha, lw=0, label=label)
    units = [f"{table.objectives[j].name} [{table.objectives[j].unit}]" for j in (x, y)]
    scales = ["log" if np.ptp(np.log10(table.values[:, j])) > 1.0 else "linear" for j in (x, y)]
    left.set(xscale=scales[0], yscale=scales[1], xlabel=units[0], ylabel=units[1])
    left.set(title="Recorded designs; large: the front")
    left.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    everything, most = table.cost_of_all()[0], max(course.spent[-1] for course in courses)
    grid = np.linspace(0.0, most, 200)
    for method, colour in zip(methods, COLOURS, strict=False):
        those = [course for course in courses if course.method == method]
        rows = [np.append(1.0, c.missed)[np.searchsorted(c.spent, grid, side="right")] for c in those]
        low, middle, high = (100.0 * share for share in np.quantile(rows, (0.25, 0.5, 0.75), axis=0))
        right.plot(grid, middle, color=colour, label=method)
        right.fill_between(grid, low, high, color=colour, alpha=0.2, lw=0)
    right.set(xlim=(0, most), ylim=(0, 60), xlabel=f"spent [s] of {everything:.0f} s for everything")
    right.set(ylabel="missed of the front [%]", title="Confirmed front: medians and quartiles")
    right.legend(frameon=False, fontsize="small")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
        ax.title.set_fontsize(10)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> None:
    """Search the tables and print what was spent, or write a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.examples", description=__doc__.split("\n")[0])
    parser.add_argument("examples", nargs="*", metavar="EXAMPLE", help=f"By default all of {', '.join(EXAMPLES)}.")
    parser.add_argument("--methods", default=",".join(METHODS), help="Names, separated by commas.")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="The number of seeds.")
    parser.add_argument("--targets", type=float, nargs="+", default=TARGETS, help="Shares of the hypervolume.")
    parser.add_argument("--most", type=float, default=MOST, help="The budget, as a share of the cost of the table.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="Parallel processes.")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="Draw a picture of each example here.")
    parser.add_argument("--record", metavar="STORAGE", help="Write the table of the example from this stored study.")
    given = parser.parse_args(arguments)
    examples = given.examples or [example for example in EXAMPLES if (TABLES / f"{example}.csv").exists()]
    if strangers := [example for example in examples if example not in EXAMPLES]:
        parser.error(f"There is no example {strangers[0]!r}; there are {', '.join(EXAMPLES)}.")
    if given.record:
        path = TABLES / f"{examples[0]}.csv"
        print(f"{path}: {write_table(given.record, path)} designs")
        return
    if unrecorded := [example for example in examples if not (TABLES / f"{example}.csv").exists()]:
        parser.error(f"There is no table of {unrecorded[0]!r} yet; run its study file and give --record STORAGE.")
    methods, targets = given.methods.split(","), sorted(given.targets, reverse=True)
    with ProcessPoolExecutor(given.jobs) as pool:
        for example in examples:
            tasks = [(example, method, seed, given.most) for seed in range(given.seeds) for method in methods]
            courses = list(pool.map(search, tasks))
            Console(width=120).print(shown(example, methods, targets, courses))
            if given.pictures:
                draw(example, methods, courses, given.pictures / f"{example}.png")


if __name__ == "__main__":
    main()
