"""A ranking of all methods, and our method against the best other method of each problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.runs import Measure, Run
from flexibo.compare.statistics.errors import (
    ROUNDING,
    Errors,
    OverheadPrices,
    errors,
    floored,
    geometric_mean,
    mean_errors,
)
from flexibo.compare.statistics.ratios import LEVEL, LogRatios, Ratio, log_ratios, mean_ratio
from flexibo.errors import InvalidValueError, unknown_name

FEWEST_SEEDS = 4
"""With fewer common seeds, the best other method cannot be chosen on separate seeds."""


@dataclass(frozen=True, slots=True)
class RankedMethod:
    """One method in a ranking.

    Attributes:
        geometric_mean: The geometric mean of its floored errors over its problems and seeds.
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
    """Our method and the best other one on one problem: mean floored errors, and their ratio.

    The best is chosen with all common seeds. `separate` tells whether there are enough of them to choose it on one half
    and judge it on the other too, which gives the lower end of the interval. Methods with too few seeds in common are
    left out.
    """

    problem: str
    ours: float
    best: float
    chosen: str
    ratio: Ratio
    separate: bool
    left_out: tuple[str, ...]
    logs: LogRatios = field(repr=False)
    lower: LogRatios = field(repr=False)


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
    def behind(self) -> tuple[str, ...]:
        """The problems on which our method is behind."""
        return tuple(one.problem for one in self.problems if one.ratio.standing == "behind")

    def over(self, problems: Iterable[str]) -> Ratio | None:
        """The geometric mean over some of the problems; None if there are none of them."""
        wanted = set(problems)
        some = [one for one in self.problems if one.problem in wanted]
        return _mean(some, self.level) if some else None


def ranking(
    runs: Iterable[Run],
    share: float,
    *,
    ours: str | None = None,
    measure: Measure = "confirmed",
    prices: OverheadPrices | None = None,
    level: float = LEVEL,
) -> Ranking:
    """All methods, ordered by the geometric mean over problems of their mean floored errors.

    Args:
        runs: In any order.
        share: The share of the budget at which they are judged.
        ours: The method that all are compared with; by default that of the first run.
        measure: The error that counts.
        prices: See `errors`.
        level: The confidence level of the intervals.
    """
    runs = list(runs)
    found = errors(runs, share, measure=measure, prices=prices)
    methods = _methods(found)
    ours = _known(runs[0].method if ours is None and runs else ours, methods)
    problems = tuple(problem for problem, by_method in found.items() if ours in by_method)
    own = {
        method: tuple(p for p in problems if found[p].get(method, {}).keys() & found[p][ours].keys())
        for method in methods
    }
    complete = [method for method in methods if len(own[method]) == len(problems)]
    means = {p: {m: mean.mean for m, mean in by_method.items()} for p, by_method in mean_errors(found).items()}

    def ranked(method: str) -> RankedMethod:
        ranks = [_rank(means[p][method], [means[p][m] for m in complete if m != method]) for p in own[method]]
        logs = {p: log_ratios(found[p][ours], found[p][method]) for p in own[method]}
        ratios = {p: mean_ratio([one], level=level) for p, one in logs.items()}
        mean = geometric_mean(np.array([means[p][method] for p in own[method]]))
        seeds = min(len(found[p][method]) for p in own[method])
        ratio = mean_ratio(list(logs.values()), level=level)
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
    *,
    measure: Measure = "confirmed",
    prices: OverheadPrices | None = None,
    fewest: int = FEWEST_SEEDS,
    level: float = LEVEL,
) -> AgainstBest:
    """Our floored errors over those of the best other method of each problem.

    Which other is the best must be chosen, and the choice has a bias. The best on the seeds it is judged on looks
    better than it is; the best on other seeds may not be the best. So the ratio and the upper end of its interval are
    those of the best on all seeds, which favours the other. The lower end is that of the best on one half of the seeds
    (even and odd positions) judged on the other, which favours ours. Then neither "ahead" nor "behind" is said too
    often (``python -m benchmarks.coverage``). With fewer than `FEWEST_SEEDS` common seeds both ends favour the other.

    Args:
        runs: In any order.
        ours: Our method.
        others: The other methods; None for all of them.
        share: The share of the budget at which they are judged.
        measure: The error that counts; methods without it are left out.
        prices: See `errors`.
        fewest: A method is left out of a problem if it would leave fewer common seeds there, unless no method has that
            many. With 1, all methods are kept and judged on the seeds that all of them have.
        level: The confidence level of the intervals.
    """
    found = errors(runs, share, measure=measure, prices=prices)
    methods = _methods(found)
    _known(ours, methods)
    others = tuple(m for m in (methods if others is None else sorted({*others} & {*methods})) if m != ours)
    judged = []
    for problem, by_method in found.items():
        seeds, kept, left_out = _field(by_method, ours, others, fewest)
        if kept:
            judged.append(_on_problem(problem, by_method, ours, seeds, kept, left_out, level))
    if not judged:
        raise InvalidValueError(
            f"Method {ours!r} shares no problem and seed with another; there is nothing to compare."
        )
    return AgainstBest(share, ours, others, level, _mean(judged, level), tuple(judged))


def _mean(judged: Sequence[AgainstBestOnProblem], level: float) -> Ratio:
    return mean_ratio([one.logs for one in judged], lower=[one.lower for one in judged], level=level)


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
    by_method: Mapping[str, Mapping[int, float]],
    ours: str,
    seeds: Sequence[int],
    kept: tuple[str, ...],
    left_out: tuple[str, ...],
    level: float,
) -> AgainstBestOnProblem:
    """The result on one problem, given the common seeds and the other methods that have them all."""
    mine = floored(by_method[ours], seeds)
    theirs = np.stack([floored(by_method[method], seeds) for method in kept])
    separate = len(seeds) >= FEWEST_SEEDS
    best = theirs[_least(theirs)]
    split = best.copy()
    if separate:
        for judged, chosen in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
            split[judged] = theirs[_least(theirs[:, chosen]), judged]
    logs, lower = (dict(zip(seeds, np.log(mine / other).tolist(), strict=True)) for other in (best, split))
    return AgainstBestOnProblem(
        problem=problem,
        ours=geometric_mean(mine),
        best=geometric_mean(best),
        chosen=kept[_least(theirs)],
        ratio=mean_ratio([logs], lower=[lower], level=level),
        separate=separate,
        left_out=left_out,
        logs=logs,
        lower=lower,
    )


def _least(theirs: FloatArray) -> int:
    """The method with the lowest geometric mean of errors (k, s)."""
    return int(np.log(theirs).mean(axis=1).argmin())


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
