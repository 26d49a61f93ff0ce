"""What failures cost: ``python -m benchmarks.failures``.

A network with a width, a depth, a kernel and a device: its error (expensive, 5 to 15 s) and its energy (1 s). The error
of some designs cannot be measured, and trying costs as much as measuring: a corner (too wide and too deep), a band of
widths, or a combination of kernels and devices, of 5, 20 and 40 % of all designs. All of them hold a part of the best
designs. An attempt fails always, or 9 times of 10.

The table says which share of the money went to attempts that failed, and how much larger the error of the confirmed
front is than if what cannot be measured were known beforehand, as a rule of the space (geometric mean, and the factor
of one standard error). Of this, "by the money" is what the lost money explains: the error of the study that knows when
it had spent as much less, over its error at the end.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np
from rich.console import Console
from rich.table import Table

from flexibo import Design, Space, Study
from flexibo._internal.arrays import FloatArray
from flexibo.pareto import hypervolume, non_dominated

WIDTHS, DEPTHS = 32, 16
KERNELS, DEVICES = ["dense", "fused", "tiled", "packed", "sparse"], ["a", "b", "c", "d"]
SPACE = {"width": (1, WIDTHS), "depth": (1, DEPTHS), "kernel": KERNELS, "device": DEVICES}
SHARES = (0.05, 0.2, 0.4)
CHANCES = (1.0, 0.9)  # that an attempt at a design that cannot be measured fails
EVALUATIONS = 30  # the budget in mean full evaluations
FIRST_SEED = 100
FLOOR = 1e-4  # an error is not below this share of the front's volume: ratios need one


def error(design: Design) -> float:
    """Falls with width and depth; kernels and devices differ little."""
    u, v = _units(design)
    kind = 0.02 * KERNELS.index(design["kernel"]) + 0.01 * DEVICES.index(design["device"])
    return float(0.1 + 0.5 * (1 - u) ** 2 + 0.3 * (1 - v) ** 2 + 0.2 * (u - v) ** 2 + kind)


def energy(design: Design) -> float:
    """Grows with width and depth; a kernel suits some devices better than others."""
    u, v = _units(design)
    kernel, device = KERNELS.index(design["kernel"]), DEVICES.index(design["device"])
    return float((0.2 + u + 0.8 * v**2) * (1.0 - 0.08 * kernel + 0.1 * ((kernel + device) % 3)) * (1 + 0.05 * device))


def seconds(design: Design, objective: str) -> float:
    """What a measurement costs, and an attempt that fails."""
    u, v = _units(design)
    return 1.0 if objective == "energy" else 5.0 + 5.0 * (u + v)


def corner(design: Design, share: float) -> bool:
    """Too wide and too deep."""
    u, v = _units(design)
    return bool(min(u, v) > 1 - share**0.5)


def band(design: Design, share: float) -> bool:
    """Of the widths in the middle."""
    return bool(abs((design["width"] - 0.5) / WIDTHS - 0.5) < share / 2)


def combination(design: Design, share: float) -> bool:
    """Of some kernels on some devices."""
    kernels, devices = {0.05: (1, 1), 0.2: (2, 2), 0.4: (4, 2)}[share]
    return KERNELS.index(design["kernel"]) < kernels and DEVICES.index(design["device"]) < devices


REGIONS: dict[str, Callable[[Design, float], bool]] = {"corner": corner, "band": band, "combination": combination}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a study came to: the share of its money spent on failures, their number, and its confirmed error.

    `trace` is what was spent and the confirmed error after each measurement, of a study that knows what would fail.
    """

    lost: float
    failed: int
    error: float
    trace: tuple[tuple[float, float], ...] = ()

    def error_before(self, share: float) -> float:
        """The confirmed error while this share of the money was not spent yet."""
        most = (1.0 - share) * self.trace[-1][0]
        return next((error for spent, error in reversed(self.trace) if spent <= most), 1.0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the studies and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.failures", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--method", default="flexibo")
    parser.add_argument(
        "--shares", type=float, nargs="+", choices=SHARES, default=SHARES, help="what cannot be measured"
    )
    given = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = "1"
    seeds = range(FIRST_SEED, FIRST_SEED + given.seeds)
    cells = [(region, share, chance) for share in given.shares for region in REGIONS for chance in (*CHANCES, 0.0)]
    jobs = [(*cell, seed, given.method) for cell in cells for seed in seeds]
    with ProcessPoolExecutor(given.jobs) as pool:
        done = dict(zip(jobs, pool.map(outcome, *zip(*jobs, strict=True)), strict=True))
    columns = ("cannot be measured", "region", "fails", "money on failures", "failed attempts", "error / known")
    table = Table(*columns, "by the money", box=None)
    for share in given.shares:
        for chance in CHANCES:
            pairs = {
                region: [tuple(done[region, share, c, seed, given.method] for c in (chance, 0.0)) for seed in seeds]
                for region in REGIONS
            }
            for region, own in pairs.items():
                table.add_row(f"{share:.0%}", region, f"{chance:.0%}", *_figures(own))
            table.add_row(f"{share:.0%}", "all", f"{chance:.0%}", *_figures([p for own in pairs.values() for p in own]))
    Console(width=120).print(table)
    return 0


def _figures(pairs: Sequence[tuple[Outcome, ...]]) -> list[str]:
    """The last columns of a row: of studies, each with the one that knows what would fail."""
    ratios = [_log(run.error) - _log(known.error) for run, known in pairs]
    money = [_log(known.error_before(run.lost)) - _log(known.error) for run, known in pairs]
    deviation = np.std(ratios, ddof=1) / len(pairs) ** 0.5 if len(pairs) > 1 else np.nan
    return [
        f"{np.mean([run.lost for run, _ in pairs]):.1%}",
        f"{np.mean([run.failed for run, _ in pairs]):.1f}",
        f"{np.exp(np.mean(ratios)):.2f} ({np.exp(deviation):.2f})",
        f"{np.exp(np.mean(money)):.2f}",
    ]


def _log(error: float) -> float:
    return float(np.log(max(error, FLOOR)))


def outcome(region: str, share: float, chance: float, seed: int, method: str) -> Outcome:
    """What one study comes to; with the chance 0, what cannot be measured is known beforehand."""
    fails = REGIONS[region]
    rule = None if chance else lambda design: not fails(design, share)
    budget = EVALUATIONS * 11.0
    study = Study(Space(SPACE, valid=rule), ["error", "energy"], budget=budget, seed=seed, method=method)
    rng, lost, failed = np.random.default_rng(seed), 0.0, 0
    trace: list[tuple[float, float]] = []
    while evaluation := study.ask():
        design, cost = evaluation.design, seconds(evaluation.design, evaluation.objective)
        if evaluation.objective == "energy":
            study.tell(evaluation, energy(design), cost=cost)
        elif fails(design, share) and rng.random() < chance:
            study.fail(evaluation, "out of memory", cost=cost)
            lost, failed = lost + cost, failed + 1
        else:
            study.tell(evaluation, error(design), cost=cost)
        if rule is not None:
            trace.append((study.spent, _confirmed_error(study, region, share)))
    return Outcome(lost / study.spent, failed, _confirmed_error(study, region, share), tuple(trace))


def _confirmed_error(study: Study, region: str, share: float) -> float:
    """The share of the true front's volume that the confirmed designs outside the region lack."""
    front, reference = _truth(region, share)
    found: dict[Design, set[str]] = {}
    for measurement in study.history.measurements:
        found.setdefault(measurement.design, set()).update(measurement.values)
    fails = REGIONS[region]
    designs = [design for design, names in found.items() if len(names) == 2 and not fails(design, share)]
    losses = np.array([[error(design), energy(design)] for design in designs]).reshape(-1, 2)
    return 1.0 - hypervolume(losses, reference) / hypervolume(front, reference)


@cache
def _truth(region: str, share: float) -> tuple[FloatArray, FloatArray]:
    """The true front (f, 2) of what can be measured, and a reference point a tenth beyond it."""
    fails = REGIONS[region]
    losses = np.array([[error(d), energy(d)] for d in Space(SPACE).enumerate() if not fails(d, share)])
    front = losses[non_dominated(losses)]
    return front, front.max(axis=0) + 0.1 * np.ptp(front, axis=0)


def _units(design: Design) -> tuple[float, float]:
    return (design["width"] - 1) / (WIDTHS - 1), (design["depth"] - 1) / (DEPTHS - 1)


if __name__ == "__main__":
    sys.exit(main())
