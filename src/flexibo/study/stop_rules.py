"""Stop rules: when a study ends before its budget is spent."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from flexibo._internal.arrays import plain
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.history import History
from flexibo.history.events import Evaluation
from flexibo.objectives import LARGEST

Predicate: TypeAlias = Callable[[Any], object]  # takes the study; returns True or a reason to stop


@dataclass(frozen=True, slots=True)
class MaxEvaluations:
    """Stop after this number of questions."""

    limit: float

    def reason(self, history: History, evaluation: Evaluation) -> str:
        """Why to stop rather than ask this evaluation, or an empty string."""
        others = len(history.asked) - (evaluation.number < len(history.asked))  # it may have been asked before
        return "" if others < self.limit else limit_reached(others, self.limit)


def limit_reached(asked: int, limit: float) -> str:
    """Why a study stops that has asked this many evaluations.

    >>> limit_reached(1, 1)
    '1 evaluation was asked; max_evaluations allows 1.'
    """
    evaluations = "1 evaluation was" if asked == 1 else f"{asked} evaluations were"
    return f"{evaluations} asked; max_evaluations allows {limit:g}."


@dataclass(frozen=True, slots=True)
class GainPerCost:
    """Stop when the best evaluation gains less per unit of cost.

    What a gain is depends on the method: for the default, the hypervolume that the evaluation is expected to add to the
    reported front plus 0.1 times what it removes from the Pareto region; for the paper's methods, the latter alone.
    """

    limit: float

    def reason(self, history: History, evaluation: Evaluation) -> str:
        """Why to stop rather than ask this evaluation, or an empty string."""
        if evaluation.gain is None or evaluation.cost <= 0 or evaluation.gain / evaluation.cost >= self.limit:
            return ""
        per_cost = evaluation.gain / evaluation.cost
        return f"The best evaluation gains {per_cost:.3g} per unit of cost, less than {self.limit:g}."


@dataclass(frozen=True, slots=True)
class MaxSeconds:
    """Stop after this wall-clock time since the study was opened; it includes the overhead of the optimizer."""

    limit: float
    clock: Callable[[], float] = time.monotonic
    start: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", self.clock())

    def reason(self, history: History, evaluation: Evaluation) -> str:
        """Why to stop rather than ask this evaluation, or an empty string."""
        elapsed = self.clock() - self.start
        return f"{elapsed:.0f} s have passed; {self.limit:g} are allowed." if elapsed >= self.limit else ""


class RuledStudy(Protocol):
    """What the rules need of a study."""

    @property
    def history(self) -> History:
        """What happened so far."""

    def certificate(self) -> Any:
        """An upper bound on what its front misses, with the study's own delta."""


@dataclass(frozen=True, slots=True)
class CertifiedError:
    """Stop when the study's certificate bounds what the front misses by this share of the best hypervolume.

    The certificate is that of `Study.certificate` with the study's own delta. It takes about as long as a question. It
    holds at all times at once, so checking it after every answer does not weaken it. A study with this rule does not
    end because no Pareto region is left: it then uses the wider boxes of the certificate, and in the end measures
    designs at random, until there are enough readings to check the models (`flexibo.belief.trust`).
    """

    limit: float

    def __post_init__(self) -> None:
        if self.limit >= 1:
            raise InvalidValueError(
                f"Stop rule 'certified_error' has the limit {self.limit!r}; it must be below 1, as 0.05 for 5 %."
            )

    def reason(self, study: RuledStudy, evaluation: Evaluation) -> str:
        """Why to stop rather than ask this evaluation, or an empty string; initial designs are measured first."""
        if evaluation.initial:
            return ""
        certificate = study.certificate()
        if not certificate.relative <= self.limit or certificate.unread:
            return ""
        return f"The front is certified to miss at most {100.0 * self.limit:.3g} %. {certificate}"


Limit: TypeAlias = MaxEvaluations | GainPerCost | MaxSeconds  # a rule that is fast and depends on the history only
StopRule: TypeAlias = Limit | CertifiedError
RULES: dict[str, type[StopRule]] = {
    "max_evaluations": MaxEvaluations,
    "gain_per_cost": GainPerCost,
    "max_seconds": MaxSeconds,
    "certified_error": CertifiedError,
}


def stop_rules(stop: object) -> tuple[StopRule | Predicate, ...]:
    """The rules that ``Study(stop=...)`` was given: limits by names in `RULES`, callables, or a sequence of these.

    >>> stop_rules({"max_evaluations": 100})
    (MaxEvaluations(limit=100),)
    """
    if stop is None:
        return ()
    if isinstance(stop, Mapping):
        return tuple(_named(name, limit) for name, limit in stop.items())
    if callable(stop):
        return (stop,)
    if isinstance(stop, Sequence) and not isinstance(stop, str):
        return tuple(rule for part in stop for rule in stop_rules(part))
    raise InvalidTypeError(f"stop is {stop!r}; give a mapping such as {{'max_evaluations': 100}} or a callable.")


def _named(name: str, limit: object) -> StopRule:
    if name not in RULES:
        raise unknown_name("stop rule", name, RULES)
    limit = plain(limit)
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit <= LARGEST:
        raise InvalidValueError(
            f"Stop rule {name!r} has the limit {limit!r}; it must be a number from 0 to {LARGEST:g}."
        )
    return RULES[name](limit)


def named_limits(rules: Sequence[StopRule | Predicate]) -> dict[str, float]:
    """The limits of the rules that have names; a callable cannot be stored."""
    names = {kind: name for name, kind in RULES.items()}
    return {names[type(rule)]: rule.limit for rule in rules if isinstance(rule, StopRule)}


@dataclass(frozen=True, slots=True)
class StopCheck:
    """The stop rules of a study during one call of it; the study does not keep it, because it holds the study.

    They end the search. What users queued is measured all the same; only the wall-clock time holds for that too.
    """

    rules: Sequence[StopRule | Predicate]
    study: RuledStudy

    def reason(self, evaluation: Evaluation) -> str:
        """The first reason to stop rather than ask this evaluation, or an empty string."""
        for rule in self._rules_for(evaluation):
            if isinstance(rule, Limit):
                answer: object = rule.reason(self.study.history, evaluation)
            elif isinstance(rule, CertifiedError):
                answer = rule.reason(self.study, evaluation)
            else:
                answer = rule(self.study)
            if answer:
                return answer if isinstance(answer, str) else "The stop rule was met."
        return ""

    def limit_reason(self, evaluation: Evaluation) -> str:
        """The same by the `Limit` rules alone: they are fast enough to be checked while the storage is locked."""
        limits = (rule for rule in self._rules_for(evaluation) if isinstance(rule, Limit))
        return next((reason for rule in limits if (reason := rule.reason(self.study.history, evaluation))), "")

    def _rules_for(self, evaluation: Evaluation) -> Sequence[StopRule | Predicate]:
        if evaluation.queued is None:
            return self.rules
        return [rule for rule in self.rules if isinstance(rule, MaxSeconds)]
