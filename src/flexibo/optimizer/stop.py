"""Stop: why there is no further question, as a kind for programs and a sentence for people."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from flexibo._internal.arrays import BoolArray
from flexibo._internal.numbers import format_budget, format_spent
from flexibo._internal.text import printable_line
from flexibo.belief.price_list import PriceList, QueuedPart
from flexibo.history import History
from flexibo.pareto import Region


class StopKind(str, Enum):
    """Why a study stopped. The values are stored and printed as JSON, so they never change."""

    BUDGET = "budget"
    """The rest of the budget pays for nothing that is worth asking."""
    FREE = "free"
    """The last evaluations cost nothing, so the budget would never end."""
    FAILING = "failing"
    """An objective failed too often in a row, or was never measured at all."""
    UNLIKELY = "unlikely"
    """What is left would probably fail."""
    FINISHED = "finished"
    """The method has nothing left to measure."""
    NO_REGION = "no-region"
    """No Pareto region is left among the candidates."""
    INFEASIBLE = "infeasible"
    """No candidate may be feasible."""
    WAITING = "waiting"
    """Pending evaluations, or objectives that are measured elsewhere, must come first."""
    RULE = "rule"
    """A stop rule of the study was met."""
    IDLE = "idle"
    """There was nothing to do for as long as the caller was willing to wait."""
    QUEUE = "queue"
    """What was queued is measured, and nothing else was wanted."""
    TRIED = "tried"
    """Every objective was measured once, and nothing else was wanted."""
    MANUAL = "manual"
    """What is left is measured manually: a person reports the values."""
    INTERRUPTED = "interrupted"
    """Ctrl-C."""
    TERMINATED = "terminated"
    """SIGTERM or SIGHUP."""
    CHANGED = "changed"
    """The study was changed, and this process does not know enough of it to measure any more."""


PASSING = (StopKind.IDLE, StopKind.WAITING, StopKind.QUEUE, StopKind.TRIED, StopKind.CHANGED)
"""Kinds that say something about one process and not about the study."""


@dataclass(frozen=True, slots=True)
class Stop:
    """There is nothing to ask: a kind for programs, and a sentence for people that no code looks into.

    If it `waits`, this may change once other processes have measured. `needs` is the budget that the initial designs
    are expected to need, if this one cannot pay for them.
    """

    kind: StopKind
    reason: str
    waits: bool = False
    needs: float | None = None


MOST_FAILURES = 6
"""An objective that failed this often and never gave a value stops the study."""
MOST_FAILURES_AFTER_SUCCESS = 30
"""So does one that gave values before, but failed this often in a row."""
MOST_FREE = 1000
"""After this many evaluations in a row that cost nothing, a budget is taken for a mistake."""

NOTHING_LEFT = Stop(StopKind.FINISHED, "Nothing is left to measure.")
ONLY_UNLIKELY = Stop(
    StopKind.UNLIKELY, "Nothing is left to learn from the designs that can probably be measured; the last ones failed."
)
WAITING_FOR_PENDING = Stop(
    StopKind.WAITING, "The method waits for what is being measured; tell the pending evaluations first."
)
NOTHING_FEASIBLE = Stop(StopKind.INFEASIBLE, "No candidate may be feasible.")
NO_REGION = Stop(
    StopKind.NO_REGION,
    "No Pareto region is left among the candidates by the method's narrow boxes; a certificate bounds what may be "
    "missed.",
)
WAITING_FOR_OTHERS = Stop(StopKind.WAITING, "The initial designs wait for objectives that are measured elsewhere.")


def failing(history: History) -> Stop | None:
    """The stop of a study with an objective that fails again and again; None if there is none."""
    for name in (purchase.objective for _, purchase in history.counting):  # without a proxy, the study goes on
        in_a_row = history.failed_in_a_row[name]
        if in_a_row >= (MOST_FAILURES_AFTER_SUCCESS if history.told[name] else MOST_FAILURES):
            which = f"in {in_a_row} attempts in a row" if history.told[name] else f"in all of its {in_a_row} attempts"
            last = printable_line(history.last_reason[name])  # it may be what a program printed
            reason = f"Objective {name!r} failed {which}; the last reason was: {last}"
            return Stop(StopKind.FAILING, reason)
    return None


def only_free(history: History) -> Stop | None:
    """The stop of a study whose budget would never end; None if evaluations cost something."""
    if history.budget is None or history.free_in_a_row < MOST_FREE:
        return None
    return Stop(
        StopKind.FREE,
        f"The last {MOST_FREE:,} evaluations cost nothing, so the budget never ends; report their costs, or "
        "stop by max_evaluations instead of a budget.",
    )


def nothing_queued(history: History, parts: Sequence[QueuedPart], left: float, *, payable: bool) -> Stop:
    """The stop of a request for what is queued: others measure it or must, it cannot be paid, or there is no more."""
    if payable:
        names = ", ".join(dict.fromkeys(part.objective for part in parts))
        return Stop(StopKind.WAITING, f"What is queued waits for objectives that are measured elsewhere: {names}.")
    if parts and not history.pending:
        cheapest = min(part.price for part in parts)
        return Stop(
            StopKind.BUDGET,
            f"The budget does not pay for what is queued: {_left(history, left)} is left, and the cheapest of its "
            f"{len(parts)} evaluation{'s' * (len(parts) != 1)} is expected to cost {_cost(history, cheapest)}.",
        )
    if history.queue:
        return Stop(StopKind.WAITING, "What is queued is being measured.")
    return Stop(StopKind.QUEUE, "What was queued is measured.")


def costs_unknown(history: History, names: Collection[str]) -> Stop:
    """The stop of a request for objectives of unknown cost, one evaluation of each of which is being measured."""
    numbers = [str(n) for n, e in history.pending.items() if e.objective in names]
    listed = " and ".join(repr(name) for name in sorted(names))
    return Stop(
        StopKind.WAITING,
        f"What {listed} costs is not known, so the budget might not pay for several at once: wait for evaluation "
        f"{' and '.join(numbers)}, or give the expected cost, Objective(..., cost=...).",
    )


def never_measured(history: History, name: str) -> Stop:
    """The stop of a study that has no value of an objective."""
    if any(name in evaluation.yields for evaluation in history.pending.values()):
        return Stop(StopKind.WAITING, f"No value of {name!r} is known yet; tell a pending evaluation first.")
    return Stop(StopKind.FAILING, f"No value of {name!r} was ever measured.")


def initial_too_expensive(
    history: History, missing: int, needs: float, unpriced: Collection[str], *, chosen: bool
) -> Stop:
    """The stop of a study that cannot pay for its initial designs; the user has `chosen` how many there are.

    They are expected to need a budget of `needs`, if what is `unpriced` costs as much as the most expensive other one.
    """
    budget = format_budget(history.budget or 0.0, history.cost_unit)
    lacking = "1 evaluation is" if missing == 1 else f"{missing} evaluations are"
    guess = f"; what {' and '.join(unpriced)} costs is not known yet" if unpriced else ""
    return Stop(
        StopKind.BUDGET,
        f"The budget of {budget} cannot pay for the initial designs: {lacking} missing. Raise the budget to "
        f"about {_cost(history, needs)} or more{', or lower n_initial' if chosen else ''}{guess}.",
        needs=needs,
    )


def design_too_expensive(history: History, price: float, left: float) -> Stop:
    """The stop of a method that proposes a design which the budget does not pay for."""
    return Stop(
        StopKind.BUDGET,
        f"The budget cannot pay for the next design: it is expected to cost {_cost(history, price)}, and "
        f"{_left(history, left)} is left.",
    )


def nothing_to_ask(names: frozenset[str]) -> Stop:
    """The stop of a request for some objectives only."""
    listed = ", ".join(sorted(names))
    return Stop(StopKind.FINISHED, f"Every candidate has been measured in {listed}, is being measured or cannot be.")


def nothing_to_buy(history: History, offered: PriceList, wanted: BoolArray) -> Stop:
    """The stop where nothing is open, or nothing that is open and wanted (m, b) can be paid."""
    if not offered.counting.any():
        return Stop(StopKind.FINISHED, "Every candidate has been measured, is being measured or cannot be.")
    asked = offered.counting & wanted & (offered.prices > 0)
    priced = offered.prices[asked if asked.any() else offered.counting & (offered.prices > 0)]
    cheapest = float(priced.min()) if len(priced) else 0.0
    return Stop(
        StopKind.BUDGET,
        f"The budget is spent: {_left(history, offered.left)} is left, "
        f"and the cheapest evaluation is expected to cost {_cost(history, cheapest)}.",
    )


def no_region(region: Region) -> Stop:
    """The stop where the Pareto region is gone: nothing is left to learn, or nothing may be feasible."""
    return NO_REGION if region.optimistic_volume > 0 else NOTHING_FEASIBLE


def nothing_scores(history: History, offered: PriceList, region: Region | None, finished: str) -> Stop:
    """The stop where no score is above 0: the budget does not pay for what might score, or the method has finished."""
    expensive = np.zeros_like(offered.open)
    if region is not None:
        expensive = offered.counting & region.alive[:, None] & ~offered.pays(offered.prices)
    if not expensive.any():
        return Stop(StopKind.FINISHED, finished)
    return Stop(
        StopKind.BUDGET,
        f"The budget does not pay for more about the front: {_left(history, offered.left)} is left, and the cheapest "
        f"evaluation that may change it is expected to cost {_cost(history, float(offered.prices[expensive].min()))}.",
    )


def _left(history: History, left: float) -> str:
    """What is left of the budget."""
    return format_spent(max(left, 0.0), history.budget, history.cost_unit)


def _cost(history: History, cost: float) -> str:
    return format_spent(cost, None, history.cost_unit)
