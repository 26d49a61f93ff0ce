"""Entries of a history: the small values that events turn into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flexibo.space import Design


@dataclass(frozen=True, slots=True)
class Charge:
    """What an event added to what was spent on an objective; below zero where a lost attempt was cheaper than thought.

    Attributes:
        event: The how-manieth event it was, from 0.
        objective: What was measured, or would have been.
        cost: How much.
    """

    event: int
    objective: str
    cost: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """An answer: the values and the cost of one evaluation, or of a result that was known before (number None)."""

    design: Design
    values: Mapping[str, float]
    cost: float | None
    number: int | None


@dataclass(frozen=True, slots=True)
class Promise:
    """Objectives of a design that are asked next, because the method measures them together."""

    design: Design
    objectives: tuple[str, ...]
    initial: bool


@dataclass(frozen=True, slots=True)
class Holder:
    """Who measures a pending evaluation, and how long that worker had lived when it got it."""

    worker: str
    seconds: float
