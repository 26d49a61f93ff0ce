"""A ranking of all methods, and our method against the best other method of each problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.compare.runs import Run
from flexibo.compare.statistics.errors import ROUNDING, Errors, OverheadPrices, errors, floored
from flexibo.compare.statistics.ratios import (
    Ratio,
    check_bootstrap,
    drawn_positions,
    generator,
    mean_ratio,
    paired_ratios,
)
from flexibo.errors import InvalidValueError, unknown_name

FEWEST_SEEDS = 4
"""With fewer common seeds, the best other method cannot be chosen on separate seeds."""


@dataclass(frozen=True, slots=True)
class RankedMethod:
    """One method in a ranking.

    Attributes:
        geometric_mean: The geometric mean over its problems of its mean floored errors.
        mean_rank: Its mean rank among the methods that ran on every problem (and itself); ties share a rank.
        ratio: The error of our method over this one's: geometric mean over this method's problems.
        ratios: The same, by problem.
        seeds: The smallest number of seeds that it has on any problem.
    """

    method: str
    geometric_mean: float
    mean_rank: float
    ratio: Ratio
    ratios: Mapping[str, Ratio]
    seeds: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """All methods, best first, compared with `ours` on the problems that it ran on.

    Attributes:
        level: The confidence level of the intervals.
        complete: The methods that ran on all of these problems.
        partial: The methods that ran on some: their geometric means are over fewer problems.
        unmatched: The methods that have no problem and seed in common with ours.
    """

    share: float
    ours: str
    level: float
    problems: tuple[str, ...]
    complete: tuple[RankedMethod, ...]
    partial: tuple[RankedMethod, ...]
    unmatched: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AgainstBestOnProblem:
    """Our mean floored error, that of the best other method, and their ratio on one problem.

    The chosen others are one, or two if the halves of the seeds disagree; `separate` tells whether they were chosen on
    other seeds than they are judged on. Methods with too few seeds in common are left out.
    """

    problem: str
    ours: float
    best: float
    chosen: tuple[str, ...]
    ratio: Ratio
    separate: bool
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AgainstBest:
    """Our method against the best other one: by problem, and the geometric mean over problems."""

    share: float
    ours: str
    others: tuple[str, ...]
    level: float
    ratio: Ratio
    problems: tuple[AgainstBestOnProblem, ...]

    @property
    def lost(self) -> tuple[str, ...]:
        """The problems on which our method is significantly worse by more than `MARGIN`."""
        return tuple(one.problem for one in self.problems if one.ratio.significantly_worse_by_margin)


def ranking(
    runs: Iterable[Run],
    share: float,
    rng: np.random.Generator,
    *,
    ours: str | None = None,
    prices: OverheadPrices | None = None,
    level: float = 0.9,
    draws: int = 2000,
) -> Ranking:
    """All methods, ordered by the geometric mean over problems of their mean floored errors.

    Args:
        runs: In any order.
        share: The share of the budget at which they are judged.
        rng: Seeds the resampling. The interval of a method does not depend on which other methods there are.
        ours: The method that all are compared with; by default that of the first run.
        prices: See `errors`.
        level: The confidence level of the intervals.
        draws: The number of bootstrap draws.
    """
    runs = list(runs)
    found = errors(runs, share, prices=prices)
    methods = _methods(found)
    ours = _known(runs[0].method if ours is None and runs else ours, methods)
    check_bootstrap(level, draws)
    problems = tuple(problem for problem, by_method in found.items() if ours in by_method)
    own = {
        method: tuple(p for p in problems if found[p].get(method, {}).keys() & found[p][ours].keys())
        for method in methods
    }
    complete = [method for method in methods if len(own[method]) == len(problems)]
    means = {p: {m: float(floored(by_seed).mean()) for m, by_seed in found[p].items()} for p in problems}
    entropy = int(rng.integers(2**63))

    def ranked(method: str) -> RankedMethod:
        ranks = [_rank(means[p][method], [means[p][m] for m in complete if m != method]) for p in own[method]]
        pairs = [(p, found[p][ours], found[p][method]) for p in own[method]]
        ratio, ratios = paired_ratios(pairs, entropy, level, draws)
        mean = float(np.exp(np.mean([np.log(means[p][method]) for p in own[method]])))
        seeds = min(len(found[p][method]) for p in own[method])
        return RankedMethod(method, mean, float(np.mean(ranks)), ratio, ratios, seeds)

    methods_ranked = [ranked(method) for method in methods if own[method]]
    # Methods that differ only by rounding are ordered by name.
    methods_ranked.sort(key=lambda one: float(f"{one.geometric_mean:.9g}"))
    return Ranking(
        share,
        ours,
        level,
        problems,
        tuple(s for s in methods_ranked if s.method in complete),
        tuple(s for s in methods_ranked if s.method not in complete),
        tuple(method for method in methods if not own[method]),
    )


def against_best(
    runs: Iterable[Run],
    ours: str,
    others: Sequence[str] | None,
    share: float,
    rng: np.random.Generator,
    *,
    prices: OverheadPrices | None = None,
    fewest: int = FEWEST_SEEDS,
    level: float = 0.9,
    draws: int = 2000,
) -> AgainstBest:
    """Our mean floored errors over those of the best other method of each problem, chosen on separate seeds.

    The common seeds are split into even and odd positions; the method with the lowest mean on one half is judged on the
    other half. The choice is repeated in every bootstrap draw, which resamples within halves. With fewer than
    `FEWEST_SEEDS` common seeds the best method is chosen on the seeds that it is judged on, which favours it.

    Args:
        runs: In any order.
        ours: Our method.
        others: The other methods; None for all of them.
        share: The share of the budget at which they are judged.
        rng: Seeds the resampling.
        prices: See `errors`.
        fewest: A method is left out of a problem if it would leave fewer common seeds there, unless no method has that
            many. With 1, all methods are kept and judged on the seeds that all of them have.
        level: The confidence level of the intervals.
        draws: The number of bootstrap draws.
    """
    found = errors(runs, share, prices=prices)
    methods = _methods(found)
    check_bootstrap(level, draws)
    _known(ours, methods)
    others = tuple(
        m for m in (methods if others is None else sorted({_known(m, methods) for m in others})) if m != ours
    )
    entropy = int(rng.integers(2**63))
    judged = []
    for problem, by_method in found.items():
        seeds, kept, left_out = _field(by_method, ours, others, fewest)
        if kept:
            mine, theirs = floored(by_method[ours], seeds), np.stack([floored(by_method[m], seeds) for m in kept])
            value, drawn, one = _on_problem(problem, mine, theirs, kept, left_out, entropy, level, draws)
            judged.append((value, drawn, one))
    if not judged:
        raise InvalidValueError(
            f"Method {ours!r} shares no problem and seed with another; there is nothing to compare."
        )
    values, drawns, results = zip(*judged, strict=True)
    ratio = mean_ratio(values, drawns, [one.ratio.seeds for one in results], level)
    return AgainstBest(share, ours, others, level, ratio, results)


def _field(
    by_method: Mapping[str, Mapping[int, float]], ours: str, others: Sequence[str], fewest: int
) -> tuple[list[int], tuple[str, ...], tuple[str, ...]]:
    """On one problem: the common seeds, the methods that are compared, and those that ran but are left out."""
    seeds = set(by_method.get(ours, ()))
    shared = {method: seeds & by_method[method].keys() for method in others if method in by_method}
    enough = max(min(fewest, max(map(len, shared.values()), default=0)), 1)
    kept = set()
    for method in sorted(shared, key=lambda method: -len(shared[method])):
        if len(seeds & shared[method]) >= enough:
            seeds &= shared[method]
            kept.add(method)
    return sorted(seeds), tuple(sorted(kept)), tuple(method for method in shared if method not in kept)


def _on_problem(
    problem: str,
    mine: FloatArray,
    theirs: FloatArray,
    kept: tuple[str, ...],
    left_out: tuple[str, ...],
    entropy: int,
    level: float,
    draws: int,
) -> tuple[float, FloatArray, AgainstBestOnProblem]:
    """The logarithm of the ratio, its draws, and the result, from our errors (n,) and the others' (k, n)."""
    n = len(mine)
    separate = n >= FEWEST_SEEDS
    halves = [np.arange(n)[0::2], np.arange(n)[1::2]] if separate else [np.arange(n)]
    weights = [len(half) / n for half in halves]
    ours, best, chosen = _judged(mine, theirs, [half[None] for half in halves], weights)
    rng = generator(entropy, problem, n)
    picks = [half[drawn_positions(rng, len(half), draws)] for half in halves]
    ours_drawn, best_drawn, _ = _judged(mine, theirs, picks, weights)
    value, drawn = float(np.log(ours[0] / best[0])), np.log(ours_drawn / best_drawn)
    names = tuple(sorted({kept[k] for k in chosen[:, 0]}))
    ratio = mean_ratio([value], [drawn], [n], level)
    return value, drawn, AgainstBestOnProblem(problem, float(ours[0]), float(best[0]), names, ratio, separate, left_out)


def _judged(
    mine: FloatArray, theirs: FloatArray, halves: Sequence[IntArray], weights: Sequence[float]
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Our mean (draws,), that of the chosen others (draws,), and which of them is judged on each half (h, draws).

    From our errors (n,) and the others' (k, n). The best on one half, positions (draws, size) of its seeds, is judged
    on the other.
    """
    ours = [mine[half].mean(axis=1) for half in halves]
    others = [theirs[:, half].mean(axis=2) for half in halves]
    chosen = np.stack([means.argmin(axis=0) for means in reversed(others)])
    best = [np.take_along_axis(means, who[None], axis=0)[0] for means, who in zip(others, chosen, strict=True)]
    return np.average(ours, axis=0, weights=weights), np.average(best, axis=0, weights=weights), chosen


def _rank(mean: float, others: Sequence[float]) -> float:
    """The rank of a method among others, from 1; ties share a rank."""
    ties = np.isclose(others, mean, rtol=ROUNDING, atol=0.0)
    return 1.0 + float((np.less(others, mean) & ~ties).sum()) + 0.5 * float(ties.sum())


def _methods(found: Errors) -> list[str]:
    return sorted({method for by_method in found.values() for method in by_method})


def _known(method: str | None, methods: Sequence[str]) -> str:
    if method is None or not methods:
        raise InvalidValueError("There are no runs to compare; make some runs first.")
    if method not in methods:
        raise unknown_name("method", method, methods)
    return method
