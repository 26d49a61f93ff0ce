"""What learning from failures is worth: ``python -m benchmarks.failures``.

A network of three layers on a board: error and energy. A design with more operations than the board can train is
reported as impossible, which costs little. The best errors lie at that border. The table compares ways to use
what failures teach, and settings of the classifier; `flexibo.belief.failures` has the ones that are used.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

from flexibo import Design, Evaluation, Objective, Space, Study
from flexibo._internal.arrays import FloatArray
from flexibo.belief import failures
from flexibo.history import History
from flexibo.optimizer import optimizer
from flexibo.pareto import hypervolume
from flexibo.space import Designs

WIDTHS, KERNELS, LAYERS = [16, 32, 64, 128, 256, 512, 1024], [1, 3, 5, 7, 9], (1, 2, 3)
NETWORK = [f"{kind}_{layer}" for layer in LAYERS for kind in ("width", "kernel")]
DEPLOYMENT = {"batch": [1, 4, 16, 64, 256], "precision": ["fp32", "fp16", "int8"]}
MOST = 2_000_000
REFERENCE = np.array([25.0, 10.0])
BUDGET = 600.0
FIRST_SEED = 100


@dataclass(frozen=True, slots=True)
class Rule:
    """How failures are used.

    Attributes:
        name: What the table calls it.
        learns: Whether chances are learned at all; what failed itself is never asked again anyway.
        likely: Below this chance a design is asked about only if nothing else scores.
        trend: Variance of the linear part of the log odds.
        bumps: Variance of the other part.
        reach: Its length scale.
    """

    name: str
    learns: bool = True
    likely: float = failures.PROBABLE
    trend: float = failures.TREND
    bumps: float = failures.BUMPS
    reach: float = failures.REACH


CHOSEN = Rule("as it is")
RULES = (
    Rule("nothing is learned", learns=False),
    Rule("chance as a weight", likely=1e-9),
    Rule("at least 0.3", likely=0.3),
    CHOSEN,
    Rule("at least 0.7", likely=0.7),
    replace(CHOSEN, name="trend 25", trend=25.0),
    replace(CHOSEN, name="bumps 25", bumps=25.0),
    replace(CHOSEN, name="no trend", trend=1e-3),
    replace(CHOSEN, name="no bumps", bumps=1e-3),
    replace(CHOSEN, name="reach 0.25", reach=0.25),
    replace(CHOSEN, name="reach 1", reach=1.0),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a study came to.

    Attributes:
        spent: What it spent, of `BUDGET`.
        failed: How many of its questions could not be answered.
        in_a_row: How many of these at most followed each other.
        volume: The hypervolume of what its front is in truth; designs that cannot be trained have none.
    """

    spent: float
    failed: int
    in_a_row: int
    volume: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the studies and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.failures", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = "1"
    table = Table("rule", "ended early", "failed questions", "most in a row", "hypervolume", box=None)
    seeds = range(FIRST_SEED, FIRST_SEED + given.seeds)
    with ProcessPoolExecutor(given.jobs) as pool:
        for rule in RULES:
            found = list(pool.map(outcome, [rule] * len(seeds), seeds))
            volumes = [one.volume for one in found]
            spread = statistics.stdev(volumes) / len(volumes) ** 0.5 if len(volumes) > 1 else 0.0
            table.add_row(
                rule.name,
                f"{sum(one.spent < 0.9 * BUDGET for one in found)} of {len(found)}",
                f"{statistics.mean(one.failed for one in found):.1f}",
                f"{max(one.in_a_row for one in found)}",
                f"{statistics.mean(volumes):.1f} ± {spread:.1f}",
            )
    Console(width=120).print(table)
    return 0


def outcome(rule: Rule, seed: int) -> Outcome:
    """What one study comes to under a rule."""
    settings: dict[str, Any] = {"TREND": rule.trend, "BUMPS": rule.bumps, "REACH": rule.reach, "PROBABLE": rule.likely}
    used: dict[str, Any] = {}
    if not rule.learns:
        settings["chance_of_success"] = used["success_weights"] = _only_possible
    with patch.multiple(failures, **settings), patch.multiple(optimizer, **used):
        study = network_study(seed=seed, budget=BUDGET)
        failed = in_a_row = 0
        while evaluation := study.ask():
            if not answered(study, evaluation):
                failed += 1
                in_a_row = max(in_a_row, study.history.failed_in_a_row["error"])
        front = [row.design for row in study.front() if operations(row.design) <= MOST]
    losses = np.array([[error(design), np.log(energy(design))] for design in front]).reshape(-1, 2)
    return Outcome(study.spent, failed, in_a_row, hypervolume(losses, REFERENCE))


def _only_possible(history: History, designs: Designs) -> FloatArray:
    return failures.possible(history, designs).astype(float)


def network_study(deployment: Mapping[str, Any] = DEPLOYMENT, **settings: Any) -> Study:
    """A study of the network with these options of its deployment, a batch among them."""
    options = {f"width_{layer}": WIDTHS for layer in LAYERS} | {f"kernel_{layer}": KERNELS for layer in LAYERS}
    return Study(
        Space(options | dict(deployment)), [Objective("error", options=NETWORK), Objective("energy")], **settings
    )


def answered(study: Study, evaluation: Evaluation) -> bool:
    """Tell what an evaluation gives, or that the network is too large to train; whether it gave a value."""
    design = evaluation.design
    if evaluation.objective == "energy":
        study.tell(evaluation, energy(design), cost=6.0)
    elif operations(design) <= MOST:
        study.tell(evaluation, error(design), cost=3.0 + operations(design) / 1e5)
    else:
        study.fail(evaluation, "too large to train", cost=0.2, impossible=True)
        return False
    return True


def operations(design: Design) -> float:
    """The operations of one inference."""
    (w1, k1), (w2, k2), (w3, k3) = ((design[f"width_{layer}"], design[f"kernel_{layer}"]) for layer in LAYERS)
    return float(16 * w1 * k1**2 + w1 * w2 * k2**2 + w2 * w3 * k3**2)


def error(design: Design) -> float:
    """Falls with the operations, and has a taste for some kernels and widths."""
    taste = (design["kernel_1"] - 5) ** 2 + (design["kernel_2"] - 3) ** 2 + 2 * (np.log2(design["width_3"]) - 7) ** 2
    return float(5 + 30 * np.exp(-0.16 * np.log2(operations(design))) + 0.05 * taste)


def energy(design: Design) -> float:
    """Grows with the operations; large batches and small numbers help."""
    effort = {"fp32": 1.6, "fp16": 1.3, "int8": 1.0}[design.get("precision", "int8")]
    return float(operations(design) ** 0.6 * effort * (0.2 + design["batch"] ** -0.5))


if __name__ == "__main__":
    sys.exit(main())
