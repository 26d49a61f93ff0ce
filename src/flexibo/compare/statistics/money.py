"""Money: the share of the budget that contestants need to reach what one of them, the baseline, reaches with all of it.

On each problem the target is the baseline's mean confirmed error at the end. A contestant has reached it at the first
recorded share of the budget at which its own mean error, over the seeds that both have, is not larger; shares are
recorded in steps of 5 %, so this rounds up. Who does not get there within the budget counts as having paid
`NOT_REACHED` budgets, which nobody measured: read such means with the number of problems that are behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flexibo.compare.runs import SHARES, Run
from flexibo.compare.statistics.errors import ROUNDING, Errors, errors, floored, geometric_mean

NOT_REACHED = 2.0


@dataclass(frozen=True, slots=True)
class MoneyGoal:
    """What our method may pay, as a share of the budget, for what the baseline reaches with all of it."""

    baseline: str
    must: float
    aim: float


@dataclass(frozen=True, slots=True)
class Money:
    """What contestants paid for the baseline's final errors.

    Attributes:
        targets: The baseline's final error by problem.
        shares: By problem and contestant; None where the target was not reached.
    """

    baseline: str
    targets: Mapping[str, float]
    shares: Mapping[str, Mapping[str, float | None]]

    def mean(self, contestant: str, problems: Iterable[str] | None = None) -> float:
        """The geometric mean over problems, by default all that have the contestant; NaN without any."""
        chosen = self.shares if problems is None else [name for name in problems if name in self.shares]
        paid = [self.shares[name][contestant] for name in chosen if contestant in self.shares[name]]
        return geometric_mean(np.array([share or NOT_REACHED for share in paid])) if paid else float("nan")

    def missed(self, contestant: str) -> list[str]:
        """The problems on which a contestant did not get there."""
        return [name for name, own in self.shares.items() if contestant in own and own[contestant] is None]


def money(runs: Sequence[Run], baseline: str) -> Money:
    """What each contestant of these runs paid for the baseline's final errors, where both have common seeds."""
    at = {share: errors(runs, share) for share in SHARES if share > 0}
    targets: dict[str, float] = {}
    shares: dict[str, dict[str, float | None]] = {}
    for problem, by_method in at[SHARES[-1]].items():
        if baseline not in by_method:
            continue
        targets[problem] = geometric_mean(floored(by_method[baseline]))
        shares[problem] = {
            method: _share(at, problem, method, baseline)
            for method, own in by_method.items()
            if own.keys() & by_method[baseline].keys()
        }
    return Money(baseline, targets, shares)


def _share(at: Mapping[float, Errors], problem: str, method: str, baseline: str) -> float | None:
    """The first share at which the mean error of a method is at most the baseline's at the end, on common seeds."""
    last = at[SHARES[-1]][problem][baseline]
    seeds = sorted(last.keys() & at[SHARES[-1]][problem][method].keys())
    target = geometric_mean(floored(last, seeds))
    for share, found in at.items():
        if geometric_mean(floored(found[problem][method], seeds)) <= target * (1.0 + ROUNDING):
            return share
    return None
