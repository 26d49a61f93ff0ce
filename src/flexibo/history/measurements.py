"""Values that a history derives from its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flexibo.space import Design


@dataclass(frozen=True, slots=True)
class Measurement:
    """An answer: the values and the cost of one evaluation, or of a result that was known before (number None)."""

    design: Design
    values: Mapping[str, float]
    cost: float | None
    number: int | None


@dataclass(frozen=True, slots=True)
class Charge:
    """The cost that an event (its index) added for an objective; negative if a lost attempt cost less than assumed."""

    event: int
    objective: str
    cost: float


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Objectives of a design that are asked next, because the method measures them together."""

    design: Design
    objectives: tuple[str, ...]
    initial: bool


@dataclass(frozen=True, slots=True)
class QueuedDesign:
    """A design that is next in line, with the objectives of which it still lacks readings."""

    number: int  # its index among all designs that were queued, from 0
    design: Design
    objectives: tuple[str, ...]
    readings: int = 1  # how many each of them shall have, if it is noisy
    why: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The worker that measures a pending evaluation, its age in seconds when it got it, and the attempt's token."""

    worker: str
    seconds: float
    token: str = field(default="", compare=False)
