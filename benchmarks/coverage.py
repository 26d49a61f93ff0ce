"""How often the intervals of a comparison hold the truth: ``python -m benchmarks.coverage [results.csv ...]``.

Errors of contestants are simulated, whose true ratios are known: the logarithm of an error is the problem's level, the
contestant's own level, the luck of the seed, which all contestants share, and the luck of the run; then it is cut off
at 1 and at the floor. The luck of a run is normal, has heavy tails (Student's t with 3 degrees of freedom), is skewed,
or makes one run in four nearly perfect (which piles up at the floor) or one in ten bad. With a table of real runs
(``flexibo compare``), seeds are drawn from these runs, and their mean is the truth. With ``--few`` some of the others
have 3 seeds only, as slow rivals in the standard suite.

The columns are the share of 90 % intervals that hold the truth, and how often "ahead" and "behind" are said too early:
the whole interval is below the truth, which favours our method, or above. An honest interval has at most 5 % of each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.runs import Moment, Run, read_runs
from flexibo.compare.statistics.errors import FLOOR, errors, floored
from flexibo.compare.statistics.ranking import FEWEST_SEEDS, against_best
from flexibo.compare.statistics.ratios import Ratio, log_ratios, mean_ratio

OTHERS = 12
PROBLEMS = 12
LEVELS = 20
"""How many levels of problems and contestants are drawn for each kind of luck."""
PRECISE = 20_000
"""The number of seeds that give the true means."""

Draw = Callable[[int, np.random.Generator], FloatArray]
"""Logarithms of errors (1 + others, problems, seeds) of new seeds; ours is the first."""

LUCK: dict[str, Callable[[np.random.Generator, tuple[int, ...]], FloatArray]] = {
    "normal": lambda rng, shape: 0.5 * rng.standard_normal(shape),
    "heavy tails": lambda rng, shape: 0.4 * rng.standard_t(3, shape),
    "skewed": lambda rng, shape: 0.6 * np.log(rng.gamma(1.0, 1.0, shape)),
    "one in four perfect": lambda rng, shape: np.where(
        rng.random(shape) < 0.25, -3.5, 0.5 * rng.standard_normal(shape)
    ),
    "one in ten bad": lambda rng, shape: np.where(rng.random(shape) < 0.1, 2.5, 0.4 * rng.standard_normal(shape)),
}


@dataclass
class Tally:
    """Counts intervals."""

    held: int = 0
    below: int = 0
    above: int = 0

    def add(self, ratio: Ratio, truth: float) -> None:
        """Count an interval of a ratio whose logarithm is `truth`."""
        low, high = np.log([ratio.low, ratio.high])
        self.below += int(high < truth - 1e-9)
        self.above += int(low > truth + 1e-9)
        self.held += int(low - 1e-9 <= truth <= high + 1e-9)

    def __str__(self) -> str:
        total = self.held + self.below + self.above
        return " ".join(f"{100 * n / total:5.1f}" for n in (self.held, self.below, self.above))


def simulated(luck: str, problems: int, rng: np.random.Generator) -> Draw:
    """Errors of one draw of levels."""
    levels = rng.uniform(-5.0, -1.5, (1, problems, 1)) + rng.normal(0.0, 0.5, (1 + OTHERS, problems, 1))

    def draw(seeds: int, rng: np.random.Generator) -> FloatArray:
        shared = 0.4 * rng.standard_normal((1, problems, seeds))
        logs = levels + shared + LUCK[luck](rng, (1 + OTHERS, problems, seeds))
        return np.asarray(np.clip(logs, np.log(FLOOR), 0.0))

    return draw


def resampled(paths: Sequence[Path], ours: str) -> tuple[FloatArray, list[str]]:
    """Logarithms of confirmed errors (1 + others, problems, seeds) at the end of complete runs, and the problems."""
    found = errors([run for path in paths for run in read_runs(path)], 1.0)
    problems = [name for name, by_method in found.items() if ours in by_method]
    methods = sorted(set.intersection(*(set(found[name]) for name in problems)) - {ours})
    seeds = sorted(set.intersection(*(set(found[p][m]) for p in problems for m in (ours, *methods))))
    return np.log([[floored(found[p][m], seeds) for p in problems] for m in (ours, *methods)]), problems


def runs_of(logs: FloatArray, few: int = 0) -> list[Run]:
    """Runs with these logarithms of errors (1 + others, problems, seeds); the last `few` have `FEWEST_SEEDS` seeds."""
    return [
        Run(f"p{p:02}", "ours" if m == 0 else f"m{m:02}", seed, (Moment(1.0, 0.0, float(np.exp(value)), 0.0, (1,)),))
        for m, table in enumerate(logs)
        for p, row in enumerate(table)
        for seed, value in enumerate(row if m < len(logs) - few else row[:FEWEST_SEEDS])
    ]


def coverage(
    draws: Iterator[tuple[FloatArray, FloatArray]], *, other_seeds: bool = False, few: int = 0
) -> tuple[Tally, Tally]:
    """The tally of our method against a fixed other, and against the best other, chosen afterwards or on other seeds.

    The last `few` of the others have `FEWEST_SEEDS` seeds. `draws` are logarithms of errors (1 + others, problems,
    seeds) with their true means (1 + others, problems).
    """
    fixed, best = Tally(), Tally()
    for logs, means in draws:
        pairs = [
            log_ratios(dict(enumerate(np.exp(mine))), dict(enumerate(np.exp(theirs))))
            for mine, theirs in zip(logs[0], logs[1], strict=True)
        ]
        fixed.add(mean_ratio(pairs), float((means[0] - means[1]).mean()))
        against = against_best(runs_of(logs, few), "ours", None, 1.0, other_seeds=other_seeds)
        best.add(against.ratio, float((means[0] - means[1:].min(axis=0)).mean()))
    return fixed, best


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each kind of luck, number of problems and number of seeds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("results", type=Path, nargs="*", help="tables of real runs to draw seeds from")
    parser.add_argument("--repeats", type=int, default=1_000, help="simulated comparisons per line")
    parser.add_argument("--other-seeds", action="store_true", help="choose the best of each seed on the other seeds")
    parser.add_argument("--few", type=int, default=0, help=f"how many of the others have {FEWEST_SEEDS} seeds only")
    parser.add_argument("--ours", default="flexibo", help="the method under test in the tables of runs")
    given = parser.parse_args(arguments)
    print(f"{'luck of a run':22} {'problems':>8} {'seeds':>5}   a fixed other          the best of the others")
    print(f"{'':22} {'':8} {'':5}   holds below above      holds below above")
    rng = np.random.default_rng(0)

    def line(name: str, problems: int, seeds: int, draws: Iterator[tuple[FloatArray, FloatArray]]) -> None:
        fixed, best = coverage(draws, other_seeds=given.other_seeds, few=given.few)
        print(f"{name:22} {problems:8} {seeds:5}   {fixed}      {best}", flush=True)

    if given.results:
        table, problems = resampled(given.results, given.ours)
        for chosen in ([[p] for p in range(len(problems))], [list(range(len(problems)))]):
            each = max(1, given.repeats // len(chosen))
            draws = (
                (table[:, own][:, :, rng.integers(table.shape[2], size=table.shape[2])], table[:, own].mean(axis=2))
                for own in chosen
                for _ in range(each)
            )
            line(f"{len(table) - 1} others of the table", len(chosen[0]), table.shape[2], draws)
        return 0
    for seeds in (10, 5):
        for luck in LUCK:
            for n in (1, PROBLEMS):
                line(luck, n, seeds, _simulations(luck, n, seeds, given.repeats, rng))
    return 0


def _simulations(
    luck: str, problems: int, seeds: int, repeats: int, rng: np.random.Generator
) -> Iterator[tuple[FloatArray, FloatArray]]:
    for _ in range(LEVELS):
        draw = simulated(luck, problems, rng)
        means = draw(PRECISE, rng).mean(axis=2)
        for _ in range(max(1, repeats // LEVELS)):
            yield draw(seeds, rng), means


if __name__ == "__main__":
    sys.exit(main())
