"""Progress as plain lines, for output that is no terminal: a file, a pipe, the log of a service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flexibo._internal.numbers import format_budget, format_number, format_spent
from flexibo._internal.text import printable_line, shortened
from flexibo.cli._detail import Detail
from flexibo.cli._logs import report
from flexibo.cli._text import design_line, squeezed
from flexibo.executors import Executor, Measure, Outcome
from flexibo.history import History
from flexibo.history.events import Evaluation
from flexibo.objectives import Objective
from flexibo.study import Study

MOST_LINES = 6  # of what a program printed
MOST_CHARACTERS = 200  # of such a line, and of a reason


class ProgressLines:
    """An executor that reports each evaluation of another one: what it was, what came of it, and what is left."""

    def __init__(self, executor: Executor, study: Study, detail: Detail = Detail.USUAL) -> None:
        self._executor = executor
        self._study = study
        self._detail = detail
        self.has_room = executor.has_room
        self.is_busy = executor.is_busy
        self.close = executor.close
        self.measures_elsewhere = getattr(executor, "measures_elsewhere", False)

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        """Start one evaluation."""
        if self._detail is Detail.VERBOSE:
            design = design_line(dict(evaluation.design))
            report(squeezed(f"{evaluation.number} {evaluation.objective} begins, of {design}"))
        self._executor.submit(evaluation, objective, measure)

    def finished(self, wait: float | None = None) -> Iterator[Outcome]:
        """The outcomes of the executor; each is reported when the next one is requested, that is, once it is stored."""
        for outcome in self._executor.finished(wait):
            yield outcome
            history = self._study.history
            report(evaluation_line(history, outcome), **evaluation_facts(history, outcome))
            if self._detail is Detail.VERBOSE:
                for line in (_expected(history, outcome), *printed_lines(outcome.printed)):
                    report(f"  {line}")


def evaluation_line(history: History, outcome: Outcome) -> str:
    """One evaluation: its number, what came of it, its design, its cost, why it was asked, and what is left."""
    evaluation, unit = outcome.evaluation, history.cost_unit
    came = values_text(history, outcome.values) if outcome.values else f"{evaluation.objective} {_lack(outcome)}"
    came += step_text(outcome)
    cost = format_spent(outcome.cost, None, unit)
    parts = (came, design_line(dict(evaluation.design)), f"cost {cost}", evaluation.why, left_text(history))
    return squeezed(f"{evaluation.number} {'; '.join(part for part in parts if part)}")


def step_text(outcome: Outcome) -> str:
    """At which step it stopped and from which it resumed, or how far it came if it failed; empty without steps."""
    evaluation, reports = outcome.evaluation, outcome.reports
    if evaluation.stop is None:
        return ""
    if not outcome.values:
        return f" after step {reports[-1][0]}" if reports else ""
    start = evaluation.start if outcome.begun is None else outcome.begun
    return f" at step {evaluation.stop}{f', resumed from step {start}' if start else ''}"


def evaluation_facts(history: History, outcome: Outcome) -> dict[str, object]:
    """The same, ready for JSON."""
    evaluation = outcome.evaluation
    return {
        "event": "released" if outcome.released else "failed" if outcome.values is None else "measured",
        "number": evaluation.number,
        "objective": evaluation.objective,
        "design": dict(evaluation.design),
        "values": None if outcome.values is None else dict(outcome.values),
        **({} if evaluation.stop is None else {"from_step": evaluation.start, "to_step": evaluation.stop}),
        "reason": outcome.reason,
        "cost": outcome.cost,
        "why": evaluation.why,
        "spent": history.spent,
        "budget": history.budget,
    }


def values_text(history: History, values: Mapping[str, float]) -> str:
    units = {objective.name: objective.unit for objective in history.objectives}
    shown = (f"{name} {format_number(value, 5)} {units.get(name, '')}" for name, value in values.items())
    return ", ".join(text.rstrip() for text in shown)


def left_text(history: History) -> str:
    """What is left of the budget and of the evaluations; without any limit, what was spent."""
    parts, most = [], (history.stop or {}).get("max_evaluations")
    if history.budget is not None:
        left = format_number(max(0.0, history.budget - history.spent))
        parts.append(f"{left} of {format_budget(history.budget, history.cost_unit)} left")
    if most is not None:
        parts.append(f"{max(0.0, most - len(history.asked)):g} of {most:g} evaluations left")
    return ", ".join(parts) or f"{format_spent(history.spent, None, history.cost_unit)} spent"


def printed_lines(text: str, most: int = MOST_LINES) -> list[str]:
    """The last lines that a program printed, safe for a terminal and cut."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    cut = [f"| (the last {most} of {len(lines)} lines or more)"] if len(lines) > most else []
    return cut + [f"| {shortened(printable_line(line), MOST_CHARACTERS)}" for line in lines[-most:]]


def _lack(outcome: Outcome) -> str:
    return f"{'was given back' if outcome.released else 'failed'}: {shortened(outcome.reason, MOST_CHARACTERS)}"


def _expected(history: History, outcome: Outcome) -> str:
    """What the evaluation was expected to cost, how long it took, and what would have been asked instead."""
    evaluation, unit = outcome.evaluation, history.cost_unit
    parts = [f"expected to cost {format_spent(evaluation.cost, None, unit)}"] if evaluation.cost else []
    parts += [] if outcome.seconds is None else [f"took {format_number(outcome.seconds, 3)} s"]
    if (other := evaluation.runner_up) is not None:
        parts.append(f"next best: {other.objective} of {design_line(dict(other.design))}")
    return squeezed("; ".join(parts) or "nothing was expected")
