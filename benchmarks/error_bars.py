"""What models gain from the error bars of readings: ``python -m benchmarks.error_bars``.

Problems of the development suite are read with noise whose standard deviation differs from reading to reading, between
1 and 30 % of the range of the losses. Three kinds of studies have the same readings: they are told no error bars, the
true ones, or those that the median of few repeats has. Printed are, over seeds:

- models: the log predictive density of true losses at other designs, minus that without error bars, and the error of
  the predicted means as a ratio; each objective is learned from random designs;
- runs: the hypervolume error of the designs that studies report at the end, and of the confirmed ones, as ratios.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from flexibo import Study
from flexibo._internal.arrays import FloatArray
from flexibo.belief.reported import reported
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.table import find_problem
from flexibo.compare.statistics.ratios import LEVEL, interval_of_mean, log_ratios, mean_ratio
from flexibo.history.readings import confirmed_front, readings
from flexibo.objectives import Reading
from flexibo.surrogates.base import fitted_to
from flexibo.surrogates.table import SURROGATES

PROBLEMS = (
    "zdt2:finite",
    "dnn-stack:surface=5",
    "mlp-car",
    "mlp-vehicle",
    "accel-3090",
    "lenet-h200",
    "tx2-xception-800",
)
FIRST_SEED = 1000
LEAST, MOST = 0.01, 0.3  # standard deviations of readings, as shares of the range of losses
REPEATS = 3
HELD_OUT = 200
MOST_LOST = 20.0  # the log density of a loss is at least minus this
Told: TypeAlias = Literal["true", "repeats"]
Bars: TypeAlias = Literal["none"] | Told
BY_SEED: TypeAlias = dict[int, float]


def noisy_reading(truth: float, span: float, rng: np.random.Generator, bars: Bars) -> float:
    """A reading of a true value; `rng` decides its noise, which is the same whatever is told of it."""
    deviation = span * math.exp(rng.uniform(math.log(LEAST), math.log(MOST)))
    single = deviation * math.sqrt(REPEATS)
    repeats = truth + single * rng.standard_normal(REPEATS)
    if bars == "true":
        return Reading(float(repeats.mean()), deviation=deviation)
    own = float(repeats.std(ddof=1)) / math.sqrt(REPEATS)
    return Reading(float(repeats.mean()), deviation=own, repeats=REPEATS) if bars == "repeats" else repeats.mean()


def spans(problem: Problem) -> FloatArray:
    """The range (n,) of the middle 90 % of typical losses."""
    low, high = np.quantile(problem.losses(problem.typical_designs()), (0.05, 0.95), axis=0)
    return np.asarray(high - low)


def predicted(problem: Problem, seed: int, count: int, told: Bars, *, exact: bool) -> list[tuple[float, float]]:
    """For each objective: the mean log density of true losses at held-out designs, and the error of means."""
    rng, found = np.random.default_rng((seed, 1)), []
    designs = problem.typical_designs()
    rows = rng.permutation(len(designs))[: count + HELD_OUT]
    designs, span = designs[np.sort(rows)], spans(problem)
    order = rng.permutation(len(designs))
    learned, others = order[:count], order[count:]
    losses = problem.losses(designs)
    for j, objective in enumerate(problem.objectives):
        own = np.random.default_rng((seed, 2, j))
        read = [noisy_reading(float(losses[i, j]), span[j], own, told) for i in learned]
        variances = None if told == "none" else np.array([one.deviation**2 for one in read if isinstance(one, Reading)])
        X, groups = designs.encoded(objective.depends_on), problem.space.groups(objective.depends_on)
        settings = SURROGATES["gp"].of(replace(objective, noisy=not exact))
        rng = np.random.default_rng(seed)
        model = fitted_to(settings, X[learned], np.array(read, dtype=float), variances, groups=groups, rng=rng)
        mean, deviation = model.predict(X[others])
        off, floor = losses[others, j] - mean, 1e-3 * span[j]
        width = np.maximum(deviation, floor)
        density = np.maximum(-0.5 * (off / width) ** 2 - np.log(width / span[j]), -MOST_LOST)
        found.append((float(density.mean()), float(np.sqrt((off**2).mean()) / span[j])))
    return found


def finished(problem: Problem, seed: int, count: int, told: Bars, *, exact: bool) -> tuple[float, float]:
    """The hypervolume errors of the reported and of the confirmed designs after `count` evaluations."""
    objectives = [replace(objective, noisy=not exact) for objective in problem.objectives]
    reference = dict(zip(problem.names, (problem.reference * problem.signs).tolist(), strict=True))
    study = Study(problem.space, objectives, reference=reference, seed=seed, stop={"max_evaluations": count})
    span, asked = spans(problem), np.zeros(len(objectives), dtype=np.int64)
    while evaluation := study.ask():
        row, values = problem.space.designs([evaluation.design]), {}
        truth, cost = problem.values(row)[0], 0.0
        for j, name in enumerate(problem.names):
            if name in evaluation.yields:
                rng = np.random.default_rng((seed, 3, j, int(row.keys(objectives[j].depends_on)[0]) % 2**63))
                values[name] = noisy_reading(float(truth[j]), span[j], rng, told)
                cost, asked[j] = max(cost, float(problem.costs(row)[0, j])), asked[j] + 1
        study.tell(evaluation, values, cost=cost)
    history = study.history
    judged = reported(history, study.predictor.estimates(history), complete=False)
    confirmed = confirmed_front(history, readings(history))
    return problem.error(list(history.designs[judged])), problem.error(list(history.designs[confirmed]))


def shown(name: str, logs: Sequence[Mapping[int, float]]) -> str:
    """A line with a ratio and its interval."""
    ratio = mean_ratio(logs)
    return f"{name}: {ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f}), {ratio.seeds} seeds"


def compare_models(problems: Sequence[str], seeds: range, count: int, told: Told, *, exact: bool) -> None:
    """Print the differences of densities and the ratios of errors."""
    gains: list[BY_SEED] = []
    ratios: list[dict[int, float]] = []
    for name in problems:
        problem = find_problem(name)
        with_bars, without = (
            {s: predicted(problem, s, count, bars, exact=exact) for s in seeds} for bars in (told, "none")
        )
        for j, objective in enumerate(problem.objectives):
            gains.append({s: with_bars[s][j][0] - without[s][j][0] for s in seeds})
            errors = [{s: found[s][j][1] for s in seeds} for found in (with_bars, without)]
            ratios.append(log_ratios(*errors))
            gain = np.mean(list(gains[-1].values()))
            print(f"  {name} {objective.name}: density {gain:+.2f}", shown("error of means", ratios[-1:]), flush=True)
    mean, half = interval_of_mean(gains, LEVEL)
    print(
        f"models, {told} bars, {count} readings: density {mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f});",
        end=" ",
    )
    print(shown("error of means", ratios), flush=True)


def compare_runs(problems: Sequence[str], seeds: range, count: int, told: Told, *, exact: bool) -> None:
    """Print the ratios of hypervolume errors."""
    logs: tuple[list[dict[int, float]], list[dict[int, float]]] = ([], [])
    for name in problems:
        problem = find_problem(name)
        with_bars, without = (
            {s: finished(problem, s, count, bars, exact=exact) for s in seeds} for bars in (told, "none")
        )
        for k, what in enumerate(("reported", "confirmed")):
            logs[k].append(log_ratios(*({s: found[s][k] for s in seeds} for found in (with_bars, without))))
            print(f"  {name}", shown(what, logs[k][-1:]), flush=True)
    for k, what in enumerate(("reported", "confirmed")):
        print(f"runs, {told} bars, {count} evaluations:", shown(what, logs[k]), flush=True)


PARTS = {"models": compare_models, "runs": compare_runs}


def main() -> None:
    """Compare models or runs with and without error bars."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--count", type=int, default=40, help="readings of a model, or evaluations of a run")
    parser.add_argument("--bars", choices=("true", "repeats"), default="true")
    parser.add_argument("--exact", action="store_true", help="objectives that are not said to be noisy")
    given = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + given.seeds)
    PARTS[given.part](given.problems, seeds, given.count, given.bars, exact=given.exact)


if __name__ == "__main__":
    main()
