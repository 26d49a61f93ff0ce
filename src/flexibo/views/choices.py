"""Why each evaluation was asked, as a view: its gain, its cost, the runner-up, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flexibo.history.events import Evaluation, RunnerUp
from flexibo.space import Value
from flexibo.study import Study
from flexibo.transfer.records import Record, records
from flexibo.views.axes import COST_LABEL, plain_number

LAST = 50


@dataclass(frozen=True, slots=True)
class Choice:
    """One evaluation and why it was asked.

    Attributes:
        number: The how-manieth question it was, from 0.
        objective: What was to be measured.
        design: Its option values.
        gain: The expected gain; None where nothing was scored.
        gain_share: The gain as a share of the Pareto region; None for methods that are not about it.
        cost: What it was expected to cost.
        why: One line for people.
        state: "pending", "measured", "failed", "impossible" or "released".
        value: What was measured; None while there is no value.
        paid: What it did cost; None while there is no answer.
        reason: Why it failed or was given back; empty otherwise.
        runner_up: What would have been asked in its place; None where nothing else scored.
    """

    number: int
    objective: str
    design: Mapping[str, Value]
    gain: float | None
    gain_share: float | None
    cost: float
    why: str
    state: str
    value: float | None
    paid: float | None
    reason: str
    runner_up: RunnerUp | None

    def to_dict(self) -> dict[str, Any]:
        """The evaluation, ready for JSON."""
        second = self.runner_up
        content = {name: getattr(self, name) for name in self.__slots__}
        return content | {
            "design": dict(self.design),
            "runner_up": None
            if second is None
            else {
                "objective": second.objective,
                "design": dict(second.design),
                "gain": plain_number(second.gain),
                "cost": plain_number(second.cost),
            },
        }


@dataclass(frozen=True, slots=True)
class ChoicesView:
    """The last evaluations that were asked, newest first."""

    cost_label: str
    choices: tuple[Choice, ...]

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {
            "kind": "choices",
            "cost_label": self.cost_label,
            "choices": [choice.to_dict() for choice in self.choices],
        }


def choices_view(study: Study, *, last: int = LAST) -> ChoicesView:
    """Why the last evaluations were asked, newest first.

    Args:
        study: The study.
        last: So many of them.
    """
    study.refresh()
    history = study.history
    found = records(history, [None] * len(history.events))
    newest = reversed(history.asked[max(0, len(history.asked) - last) :])
    return ChoicesView(COST_LABEL, tuple(_choice(asked, found[asked.number]) for asked in newest))


def _choice(asked: Evaluation, record: Record) -> Choice:
    gain = plain_number(asked.gain)
    share = None if gain is None or not asked.volume else plain_number(gain / asked.volume)
    return Choice(
        number=asked.number,
        objective=asked.objective,
        design=asked.design,
        gain=gain,
        gain_share=share,
        cost=asked.cost,
        why=asked.why,
        state=record.state,
        value=plain_number(record.values.get(asked.objective)),
        paid=record.cost,
        reason=record.reason,
        runner_up=asked.runner_up,
    )
