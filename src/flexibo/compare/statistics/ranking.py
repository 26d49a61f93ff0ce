"""A ranking of all methods, and our method against the best other method of each problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

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

FEWEST_SEEDS = 3
"""With fewer seeds in common with ours, a method is not judged as the best other, unless none has more."""


@dataclass(frozen=True, slots=True)
class RankedMethod:
    """One method in a ranking.

    Attributes:
        geometric_mean: The geometric mean of its floored errors over its problems and seeds.
        mean_rank: Its mean rank among the methods that ran on every problem (and itself), by our ratio to each on the
            seeds that both have; ties share a rank.
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

    Every other method is judged on the seeds that it has in common with ours; the best is the one to which our ratio is
    greatest. `separate` tells whether there are enough seeds to choose it on one half and judge it on the other too,
    which gives the lower end of the interval. Methods with too few seeds in common are left out. If the best is chosen
    on other seeds, it may differ from seed to seed; `chosen` is the most frequent one.
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
    """Our method against the best other one: by problem, and the geometric mean over problems.

    `other_seeds` tells whether the best was chosen, for each seed, on the others.
    """

    share: float
    ours: str
    others: tuple[str, ...]
    level: float
    ratio: Ratio
    problems: tuple[AgainstBestOnProblem, ...]
    other_seeds: bool = False

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
    """All methods, the best first: ordered by our ratio to each, over the problems and seeds that both have.

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
    logs = {m: {p: log_ratios(found[p][ours], found[p][m]) for p in own[m]} for m in methods}
    # Relative to ours on common seeds: the mean errors of methods with other seeds cannot be compared.
    worse = {m: {p: float(np.exp(-np.mean(list(one.values())))) for p, one in logs[m].items()} for m in methods}

    def ranked(method: str) -> RankedMethod:
        ranks = [_rank(worse[method][p], [worse[m][p] for m in complete if m != method]) for p in own[method]]
        ratios = {p: mean_ratio([one], level=level) for p, one in logs[method].items()}
        mean = geometric_mean(np.array([means[p][method] for p in own[method]]))
        seeds = min(len(found[p][method]) for p in own[method])
        ratio = mean_ratio(list(logs[method].values()), level=level)
        return RankedMethod(method, mean, float(np.mean(ranks)), ratio, ratios, seeds)

    methods_ranked = [ranked(method) for method in methods if own[method]]
    # Methods that differ only by rounding are ordered by name.
    methods_ranked.sort(key=lambda one: -float(f"{one.ratio.value:.9g}"))
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
    other_seeds: bool = False,
    level: float = LEVEL,
) -> AgainstBest:
    """Our floored errors over those of the best other method of each problem.

    Which other is the best must be chosen, and the choice has a bias. The best on the seeds it is judged on looks
    better than it is; the best on other seeds may not be the best. So the ratio and the upper end of its interval are
    those of the best on all seeds, which favours the other. The lower end is that of the best on one half of the seeds
    (even and odd positions) judged on the other, which favours ours. Then neither "ahead" nor "behind" is said too
    often (``python -m benchmarks.coverage``). With fewer than `FEWEST_SEEDS` common seeds both ends favour the other.
    A method with few seeds is compared on these, and takes none from the others.

    With `other_seeds`, the best is chosen for each seed on all others, as if it had to be known beforehand. That
    favours ours with both ends of the interval: it is below the truth too often.

    Args:
        runs: In any order.
        ours: Our method.
        others: The other methods; None for all of them.
        share: The share of the budget at which they are judged.
        measure: The error that counts; methods without it are left out.
        prices: See `errors`.
        fewest: A method is left out of a problem if it has fewer seeds in common with ours there, unless no method has
            that many.
        other_seeds: Whether the best is chosen for each seed on the other seeds.
        level: The confidence level of the intervals.
    """
    found = errors(runs, share, measure=measure, prices=prices)
    methods = _methods(found)
    _known(ours, methods)
    others = tuple(m for m in (methods if others is None else sorted({*others} & {*methods})) if m != ours)
    judged = []
    for problem, by_method in found.items():
        logs = {m: log_ratios(by_method.get(ours, {}), by_method[m]) for m in others if m in by_method}
        most = max(map(len, logs.values()), default=0)
        if most:
            kept = {m: own for m, own in logs.items() if len(own) >= min(fewest, most)}
            left_out = tuple(m for m in logs if m not in kept)
            elsewhere = other_seeds and most > 1
            judged.append(_on_problem(problem, by_method, ours, kept, left_out, other_seeds=elsewhere, level=level))
    if not judged:
        raise InvalidValueError(
            f"Method {ours!r} shares no problem and seed with another; there is nothing to compare."
        )
    return AgainstBest(share, ours, others, level, _mean(judged, level), tuple(judged), other_seeds)


def _mean(judged: Sequence[AgainstBestOnProblem], level: float) -> Ratio:
    return mean_ratio([one.logs for one in judged], lower=[one.lower for one in judged], level=level)


def _on_problem(
    problem: str,
    by_method: Mapping[str, Mapping[int, float]],
    ours: str,
    logs: Mapping[str, LogRatios],
    left_out: tuple[str, ...],
    *,
    other_seeds: bool,
    level: float,
) -> AgainstBestOnProblem:
    """The result on one problem, given the log ratios to the other methods on the seeds that each shares with ours."""
    hardest = _hardest(logs)
    chosen = _hardest_elsewhere(logs) if other_seeds else dict.fromkeys(sorted(logs[hardest]), hardest)
    found = {seed: logs[method][seed] for seed, method in chosen.items()}
    best = {seed: by_method[method][seed] for seed, method in chosen.items()}
    lower = found if other_seeds else _lower(logs, found, sorted(by_method[ours]))
    return AgainstBestOnProblem(
        problem=problem,
        ours=geometric_mean(floored(by_method[ours], found)),
        best=geometric_mean(floored(best)),
        chosen=Counter(chosen.values()).most_common(1)[0][0],
        ratio=mean_ratio([found], lower=[lower or found], level=level),
        separate=lower is not None,
        left_out=left_out,
        logs=found,
        lower=lower or found,
    )


def _lower(logs: Mapping[str, LogRatios], found: LogRatios, seeds: Sequence[int]) -> LogRatios | None:
    """The log ratios to the best on one half of our seeds, judged on the other; None if too few are in common."""
    even, odd = set(seeds[::2]), set(seeds[1::2])
    if len(found) < FEWEST_SEEDS or even.isdisjoint(found) or odd.isdisjoint(found):
        return None
    return _chosen_elsewhere(logs, even, odd) | _chosen_elsewhere(logs, odd, even)


def _hardest_elsewhere(logs: Mapping[str, LogRatios]) -> dict[int, str]:
    """For each seed the method that is hardest to beat on the other seeds; some method has two seeds or more."""
    chosen = {}
    for seed in sorted(set().union(*logs.values())):
        elsewhere = {m: {s: v for s, v in own.items() if s != seed} for m, own in logs.items() if seed in own}
        if known := {m: own for m, own in elsewhere.items() if own}:
            chosen[seed] = _hardest(known)
    return chosen


def _chosen_elsewhere(logs: Mapping[str, LogRatios], judged: set[int], other: set[int]) -> dict[int, float]:
    """On some seeds, the log ratios to the method that is hardest to beat on other seeds."""
    both = {m: own for m, own in logs.items() if own.keys() & judged and own.keys() & other}
    hardest = _hardest({m: {seed: own[seed] for seed in own.keys() & other} for m, own in both.items()})
    return {seed: value for seed, value in logs[hardest].items() if seed in judged}


def _hardest(logs: Mapping[str, LogRatios]) -> str:
    """The method to which our error has the greatest mean ratio; of equals the first."""
    return max(logs, key=lambda method: float(np.mean(list(logs[method].values()))))


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
