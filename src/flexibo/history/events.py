"""Evaluations, and the events that a study consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from flexibo._internal.html import html_block, html_heading, html_table
from flexibo.space import Design

LABEL_DIGITS = 4  # of a token, in the name of an evaluation: enough to notice a mix-up
LONGEST_TEXT = 4_000  # characters of a reason or a note that are kept
CUT = " ... (cut)"


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """A text of at most `most` characters, which says so at its end if it was cut.

    >>> cut("no memory"), cut("0123456789" * 2, 15)
    ('no memory', '01234 ... (cut)')
    """
    return text if len(text) <= most else text[: most - len(CUT)] + CUT


def _cut_field(event: object, name: str) -> None:
    """Cut a text of an event that is being made: whoever wrote it, it must not fill memories and screens."""
    text = getattr(event, name)
    if len(text) > LONGEST_TEXT:
        object.__setattr__(event, name, cut(text))


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """The second best evaluation that could have been asked."""

    design: Design
    objective: str  # what would have been measured
    gain: float  # see `Evaluation`
    cost: float  # expected


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A question: measure this objective of this design.

    Attributes:
        design: The option values to use.
        objective: The objective to measure.
        gain: The volume that this is expected to add to the front (`flexibo`) or to remove from the Pareto region (the
            paper's methods), or the score of another method; None if it was not scored, as for an initial design.
        cost: Its expected cost; 0 if nothing is known.
        why: The reason in one line, for people.
        number: The index of the question in the study, from 0.
        yields: All objectives that this one measurement gives, the asked one first.
        attempt: 1, or more if earlier attempts failed.
        volume: The volume of the Pareto region when this was asked; None for an initial design and for methods that do
            not use the region.
        then: Objectives of the same design that are asked next, because the method measures them together.
        initial: Whether it belongs to the initial designs.
        runner_up: The second best that could have been asked; None if nothing else was scored.
        queued: The number of the queued design that it belongs to; None if the study chose it itself.
        token: Identifies this attempt, so that its answer cannot reach another question; empty in older studies.
        start: The step from which it continues, of an objective with steps; 0 is the beginning.
        stop: The step at which it stops; None for an objective without steps.
    """

    design: Design
    objective: str
    gain: float | None
    cost: float
    why: str
    number: int
    yields: tuple[str, ...]
    attempt: int = 1
    volume: float | None = None
    then: tuple[str, ...] = ()
    initial: bool = False
    runner_up: RunnerUp | None = None
    queued: int | None = None
    token: str = field(default="", compare=False)
    start: int = 0
    stop: int | None = None

    @property
    def label(self) -> str:
        """The name by which people answer it, as in 12-3f9a: its number, and the beginning of its token."""
        return f"{self.number}-{self.token[:LABEL_DIGITS]}" if self.token else str(self.number)

    def _repr_html_(self) -> str:
        """The question as a table, for notebooks."""
        options = ", ".join(f"{name}={value}" for name, value in self.design.items())
        cost = f"{self.cost:.4g}" if self.cost else "not known yet"
        rows = [("measure", ", ".join(self.yields)), ("of", options), ("expected cost", cost)]
        rows += [("steps", f"{self.start} to {self.stop}")] if self.stop is not None else []
        rows += [("attempt", str(self.attempt))] if self.attempt > 1 else []
        return html_block(html_heading(f"Evaluation {self.label}"), html_table([], [*rows, ("why", self.why)]))


@dataclass(frozen=True, slots=True)
class Created:
    """A study was created with these settings; `origin` is what its functions can be built from, if anything."""

    settings: Mapping[str, Any]
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changed:
    """The study has these settings from now on; all readings before stay, and are read as readings of this study.

    Attributes:
        settings: All settings, as `Created` has them.
        changes: What changed, a line each, for people.
        origin: What its functions can be built from, if that changed too.
        rule: Whether the space has another rule, which only the process knows that changed it.
    """

    settings: Mapping[str, Any]
    changes: tuple[str, ...]
    origin: Mapping[str, Any] = field(default_factory=dict)
    rule: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """An evaluation was assigned to a worker of this age in seconds."""

    evaluation: Evaluation
    worker: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Reissued:
    """An evaluation whose worker was lost was assigned to another; `cost` is an estimate of the lost attempt's."""

    number: int
    worker: str
    seconds: float
    cost: float
    token: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Told:
    """An evaluation was answered; if `timed`, its cost is the time it took, in seconds.

    The `token` of this and other answers is that of the attempt. `reports` are steps before that at which the question
    stops, ascending, each with its value. `begun` is the step from which it really went, where a checkpoint of another
    attempt was found or the expected one was not; None: from that of the question. Its cost is of the steps from there.
    `noise` is the error bar of some values: the standard deviation of the value, and the repeats that it sums up.
    """

    number: int
    values: Mapping[str, float]
    cost: float
    worker: str = ""
    timed: bool = False
    token: str = field(default="", compare=False)
    reports: tuple[tuple[int, float], ...] = ()
    begun: int | None = None
    noise: Mapping[str, tuple[float, int]] = field(default_factory=dict)


LOST_WORKER = "Its worker vanished."  # the reason that is stored with an evaluation whose worker is gone


class FailureKind(str, Enum):
    """Why an attempt gave no value. The values are stored, so they never change."""

    ERROR = "error"
    """What was called to measure raised an error, or somebody reported a failure."""
    TIMEOUT = "timeout"
    """It took too long. What it would have cost is not known, only that it is more than was spent."""
    VALUE = "value"
    """It gave something that is no finite number of the right kind."""
    LOST = "lost"
    """The process that measured it ended; this may have nothing to do with the design."""


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt at an evaluation gave no value; if it is `impossible`, there is no other attempt.

    `reports` are the steps that it had reached, ascending, each with its value.
    """

    number: int
    reason: str
    cost: float
    worker: str = ""
    timed: bool = False
    impossible: bool = False
    kind: FailureKind = FailureKind.ERROR
    token: str = field(default="", compare=False)
    reports: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        _cut_field(self, "reason")


@dataclass(frozen=True, slots=True)
class Released:
    """An evaluation was released without an answer; `cost` is an estimate of a lost attempt's."""

    number: int
    reason: str = ""
    cost: float = 0.0

    def __post_init__(self) -> None:
        _cut_field(self, "reason")


@dataclass(frozen=True, slots=True)
class Spent:
    """An attempt ended after another one had answered: only its cost counts."""

    number: int
    cost: float
    worker: str = ""
    token: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Added:
    """A result from before the study was added; it costs this study nothing.

    `failed` has the reason for each objective that could not be measured, `noise` the error bar of some values.
    """

    design: Design
    values: Mapping[str, float]
    costs: Mapping[str, float]
    failed: Mapping[str, str] = field(default_factory=dict)
    noise: Mapping[str, tuple[float, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if any(len(reason) > LONGEST_TEXT for reason in self.failed.values()):
            object.__setattr__(self, "failed", {name: cut(reason) for name, reason in self.failed.items()})


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A design was put next in line: these objectives are asked for until each has this many readings."""

    design: Design
    objectives: tuple[str, ...]  # in this order; of objectives that are measured together, the one that is asked for
    readings: int = 1  # of a noisy objective; an exact one needs no second reading
    why: str = ""  # the reason in one line, for people

    def __post_init__(self) -> None:
        _cut_field(self, "why")


@dataclass(frozen=True, slots=True)
class Dequeued:
    """A queued design was withdrawn; what is being measured of it may still be answered."""

    number: int  # its index among all designs that were queued, from 0
    reason: str = ""

    def __post_init__(self) -> None:
        _cut_field(self, "reason")


@dataclass(frozen=True, slots=True)
class ReferenceFixed:
    """The reference point was fixed, in the users' values: `found` by the study, which may widen it, or given.

    Earlier versions stored no difference. What they stored counts as given, so their studies keep their points.
    """

    values: Mapping[str, float]
    found: bool = False


@dataclass(frozen=True, slots=True)
class BudgetSet:
    """The budget was set or raised; None means no limit."""

    budget: float | None


@dataclass(frozen=True, slots=True)
class StopSet:
    """The rules for stopping early were set."""

    rules: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Forgiven:
    """A study that had stopped because of failures was resumed: they are counted from 0 again."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A note for people; it decides nothing."""

    text: str

    def __post_init__(self) -> None:
        _cut_field(self, "text")


@dataclass(frozen=True, slots=True)
class Stopped:
    """A run ended; `kind` is the value of a `flexibo.optimizer.StopKind`. It decides no question."""

    kind: str
    reason: str

    def __post_init__(self) -> None:
        _cut_field(self, "reason")


Event: TypeAlias = (
    Created
    | Changed
    | Asked
    | Reissued
    | Told
    | Failed
    | Released
    | Spent
    | Added
    | Enqueued
    | Dequeued
    | ReferenceFixed
    | BudgetSet
    | StopSet
    | Forgiven
    | Noted
    | Stopped
)
