"""The certificate of a front: an upper bound on the share of the best hypervolume that its designs miss.

Let every loss lie within its box (`flexibo.results.confidence` gives the probability). No candidate is better than its
best corner, so the best front of the candidates has at most HV(F_opt), the hypervolume of the best corners. No reported
design is worse than its worst corner, so the reported designs have at least HV(their worst corners). Then they miss

    HV(best front) - HV(reported) <= HV(F_opt) - HV(worst corners) = gap,

and as a share of the best front's hypervolume at most gap / HV(F_opt), which is never above 1. Under constraints, best
corners that break one do not count, nor do worst corners, nor reported designs.

This is about the candidates. It is about the space only if they are all designs of the space.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo._internal.checks import checked_delta, whole_number
from flexibo._internal.html import html_block, html_line
from flexibo._internal.numbers import format_number
from flexibo.belief.reported import reported
from flexibo.history import History
from flexibo.optimizer.predictor import Predictor
from flexibo.pareto import hypervolume
from flexibo.results.confidence import Confidence, confidence


@dataclass(frozen=True, slots=True)
class Certificate:
    """A bound on what the designs of a front miss. Printed, it states the bound and its conditions in words.

    Attributes:
        gap: The bound on the hypervolume that they miss, in units of the objectives.
        relative: The same as a share of the best front's hypervolume, between 0 and 1; 1 is no information.
        optimistic_volume: The hypervolume of the best corners; no front of the candidates has more.
        reported_volume: The hypervolume of the reported designs' worst corners; they have no less.
        delta: The probability that the bound is wrong, for all certificates of one study together.
        beta: The square of the boxes' half width in standard deviations.
        t: The number of answers that the models have learned from.
        candidates: The number of designs for which it holds.
        whole_space: Whether these are all designs of the space.
        designs: The number of reported designs.
        constrained: Whether there are constraints.
        pending: The number of evaluations without an answer; they count as unknown.
        trusted: Whether the study's own readings support the models: nothing was widened, and nothing is unread.
        widened: The factor by which the boxes are wider because held-out readings are too far from their predictions.
        unread: The number of readings that are missing before the models are checked (`flexibo.belief.trust`).
        stranger: The probability that a single design that does not follow the models was not measured.
    """

    gap: float
    relative: float
    optimistic_volume: float
    reported_volume: float
    delta: float
    beta: float
    t: int
    candidates: int
    whole_space: bool
    designs: int
    constrained: bool
    pending: int
    trusted: bool
    widened: float
    unread: int
    stranger: float

    def __str__(self) -> str:
        return " ".join(self.sentences())

    def _repr_html_(self) -> str:
        """The bound and its conditions, for notebooks."""
        return html_block(*map(html_line, self.sentences()))

    def sentences(self) -> list[str]:
        """The bound and its conditions."""
        who = "the reported design misses" if self.designs == 1 else f"the {self.designs} reported designs miss"
        where = f"all {self.candidates:,} designs" if self.whole_space else f"{self.candidates:,} candidates"
        if not self.optimistic_volume > 0:
            better = "be feasible and better" if self.constrained else "be better"
            said = [f"Nothing is certified: none of {where} may {better} than the reference point."]
        else:
            said = [
                f"With a probability of {percent(1.0 - self.delta, up=False)}, if the models are right, {who} at most "
                f"{percent(self.relative)} of the hypervolume of the best front among {where} "
                f"({format_number(self.gap)} of at most {format_number(self.optimistic_volume)})."
            ]
        if self.constrained:
            said.append("A reported design that may break a constraint counts for nothing.")
        if not self.whole_space:
            said.append("The candidates are a draw: better designs may lie outside.")
        return said + self._checks()

    def _checks(self) -> list[str]:
        """What the study's own readings say about the models."""
        said = []
        if self.widened > 1.0:
            said.append(
                "The models cannot be trusted here: readings are further from what the others predict than the models "
                f"say, so the boxes are {format_number(self.widened)} times as wide."
            )
        if self.unread:
            said.append(f"The models are not checked yet: {readings_needed(self.unread)}.")
        if self.stranger > 0.0:
            said.append(
                "A single design that does not follow the models is not measured yet with a probability of "
                f"{percent(self.stranger)}."
            )
        return said

    def to_dict(self) -> dict[str, Any]:
        """The certificate as JSON-able values; ``words`` is its text."""
        return {**asdict(self), "words": str(self)}


def readings_needed(number: int) -> str:
    """How many readings are needed to check the models, as a clause.

    >>> readings_needed(1), readings_needed(2000)
    ('1 more reading is needed', '2,000 more readings are needed')
    """
    return "1 more reading is needed" if number == 1 else f"{number:,} more readings are needed"


def percent(share: float, *, up: bool = True) -> str:
    """A share in per cent with three digits, rounded up or down.

    If less is missing to 100 %, the digits are those of what is missing, so that only 1 is printed as 100 %.

    >>> percent(0.95), percent(0.08341), percent(1.0), percent(0.0)
    ('95 %', '8.35 %', '100 %', '0 %')
    >>> percent(0.9999, up=False), percent(0.96667, up=False), percent(0.9999997)
    ('99.99 %', '96.6 %', '99.99997 %')
    """
    if not 0.0 < share < 1.0:
        return f"{100.0 * share:g} %"
    digits = max(2 - math.floor(math.log10(100.0 * share)), -math.floor(math.log10(100.0 * (1.0 - share)) + 1e-9))
    step = 10.0**-digits
    steps = math.ceil(100.0 * share / step - 1e-6) if up else math.floor(100.0 * share / step + 1e-6)
    return f"{steps * step:.{max(0, digits)}f}".rstrip("0").rstrip(".") + " %"


def certificate(
    predictor: Predictor, history: History, *, delta: float | None = None, candidates: int | None = None
) -> Certificate:
    """The certificate of the front that a study reports. Same history, same certificate.

    `delta` is the probability that the bound is wrong, by default the study's own; `candidates` is how many designs to
    draw beside those of the history, by default as many as for a question. Every objective must have a value.
    """
    checked = checked_delta(predictor.delta if delta is None else delta)
    m = None if candidates is None else whole_number("candidates", candidates, least=1)
    sure = confidence(predictor, history, delta=checked, m=m)
    front = reported(history, predictor.estimates(history), complete=False)
    return certificate_of(sure, history, front, predictor.reference(history))


def certificate_of(sure: Confidence, history: History, front: IntArray, reference: FloatArray) -> Certificate:
    """The certificate of some designs of a history, given their places (f,) and the boxes of the candidates."""
    optimistic, pessimistic = volumes(sure, front, reference)
    # The volume of huge losses can overflow; then nothing is certified.
    gap = optimistic - pessimistic if math.isfinite(optimistic) else math.inf
    return Certificate(
        gap=gap,
        relative=gap / optimistic if 0 < optimistic < math.inf else 1.0,
        optimistic_volume=optimistic,
        reported_volume=pessimistic,
        delta=sure.delta,
        beta=sure.beta,
        t=sure.t,
        candidates=len(sure.best),
        whole_space=sure.whole,
        designs=len(front),
        constrained=bool(np.isfinite(history.limits).any()),
        pending=len(history.pending),
        trusted=sure.widened == 1.0 and not sure.unread,
        widened=sure.widened,
        unread=sure.unread,
        stranger=sure.stranger,
    )


def volumes(sure: Confidence, front: IntArray, reference: FloatArray) -> tuple[float, float]:
    """An upper bound of the best front's hypervolume, and a lower bound of that of the reported designs (f,)."""
    optimistic = hypervolume(sure.best, reference)
    return optimistic, min(hypervolume(sure.worst[front], reference), optimistic)
