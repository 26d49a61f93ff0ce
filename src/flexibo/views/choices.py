"""Why each evaluation was asked, as a view: its gain, its cost, the runner-up, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flexibo.history.events import Evaluation, RunnerUp
from flexibo.space import Value
from flexibo.study import Study
from flexibo.transfer.evaluations import Record, records
from flexibo.views._json import finite_or_none, json_fields
from flexibo.views.axes import cost_label

LAST = 50


@dataclass(frozen=True, slots=True)
class Choice:
    """One evaluation and why it was asked.

    Attributes:
        number: Its index among the questions, from 0.
        objective: The objective to measure.
        design: Its option values.
        gain: The expected gain; None if the method did not score it.
        gain_share: The gain as a share of the volume of the Pareto region; None for methods without a region.
        cost: The expected cost.
        why: The explanation, one line.
        state: "pending", "measured", "failed", "impossible" or "released".
        value: The measured value; None without one.
        paid: The actual cost; None before the answer.
        reason: Why it failed or was released; empty otherwise.
        runner_up: The second-best evaluation; None if no other was scored.
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
        return {**json_fields(self), "runner_up": runner_up_dict(self.runner_up)}


@dataclass(frozen=True, slots=True)
class ChoicesView:
    """The last questions, newest first."""

    cost_label: str
    choices: tuple[Choice, ...]

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""
        return {"kind": "choices", **json_fields(self)}


def choices_view(study: Study, *, last: int = LAST) -> ChoicesView:
    """Why the last evaluations were asked, newest first."""
    study.refresh()
    history = study.history
    found = records(history, [None] * len(history.events))
    newest = reversed(history.asked[max(0, len(history.asked) - last) :])
    return ChoicesView(cost_label(history), tuple(_choice(asked, found[asked.number]) for asked in newest))


def runner_up_dict(second: RunnerUp | None) -> dict[str, Any] | None:
    """The second-best evaluation, ready for JSON."""
    if second is None:
        return None
    return {
        "objective": second.objective,
        "design": dict(second.design),
        "gain": finite_or_none(second.gain),
        "cost": finite_or_none(second.cost),
    }


def _choice(asked: Evaluation, record: Record) -> Choice:
    gain = finite_or_none(asked.gain)
    share = None if gain is None or not asked.volume else finite_or_none(gain / asked.volume)
    return Choice(
        number=asked.number,
        objective=asked.objective,
        design=asked.design,
        gain=gain,
        gain_share=share,
        cost=asked.cost,
        why=asked.why,
        state=record.state,
        value=finite_or_none(record.values.get(asked.objective)),
        paid=record.cost,
        reason=record.reason,
        runner_up=asked.runner_up,
    )
