"""What a knob is: a setting of the machine that a design may choose, and the writes that make it so.

A knob never writes. It says which writes a value takes, and a session makes them: only so can all of them be shown
before the first is made, kept in a journal, verified and undone. What writes is a `Machine`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from flexibo.errors import InvalidValueError, MachineError

Level: TypeAlias = str | int | float
"""A value of a knob as designs have it: a number, in GHz, watts or percent as the knob says, or a word."""


class KnobError(MachineError, OSError):
    """A setting could not be made; what had been changed was put back."""


class KnobUnavailableError(KnobError):
    """This machine has no such knob, or it may not be read; the message says why."""


class RestoreError(KnobError):
    """Some settings could not be put back; the message names them and the journal keeps them."""


@dataclass(frozen=True, slots=True)
class Roots:
    """Where the kernel shows its files; elsewhere in tests and containers."""

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")


HERE = Roots()


@dataclass(frozen=True, slots=True)
class Write:
    """One text written to one place, and how it is undone.

    Attributes:
        path: The file, or for what has no file a name such as "nvml:0/power_limit_mw".
        value: What is written.
        before: What puts it back.
        before_path: Where `before` is written if that is another place.
        tolerance: By which part of itself the value read back may differ, because a kernel may round.
        readable: Whether the place shows what was written to it.
        steady: Whether the place keeps what was there before; a clock that is free again does not.
    """

    path: str
    value: str
    before: str
    before_path: str = ""
    tolerance: float = 0.0
    readable: bool = True
    steady: bool = True

    @property
    def undo_path(self) -> str:
        """Where `before` is written."""
        return self.before_path or self.path


class Machine(Protocol):
    """What knobs read and write: short texts, each in its place."""

    @property
    def roots(self) -> Roots:
        """Where the kernel's files are."""
        ...

    def read(self, path: str) -> str:
        """The text there now, without space around it; an OSError if it cannot be read."""
        ...

    def write(self, path: str, text: str) -> None:
        """Write a text; an OSError if it is refused."""
        ...

    def refusal(self, path: str) -> str:
        """A sentence that says why nothing can be written there; empty if nothing is known to forbid it."""
        ...


class Knob(Protocol):
    """A setting of the machine that is an option of designs."""

    @property
    def name(self) -> str:
        """The option's name."""
        ...

    def values(self) -> tuple[Level, ...]:
        """What this machine offers, at least one value.

        Raises:
            KnobUnavailableError: It offers nothing; the message says why.
        """
        ...

    def read(self) -> Level:
        """The value now."""
        ...

    def writes(self, value: Level) -> tuple[Write, ...]:
        """The writes that turn the present state into this value, in an order that is legal at every step.

        None where the machine is there already.

        Raises:
            InvalidValueError: The machine has no such value.
        """
        ...


@dataclass(frozen=True, slots=True)
class State:
    """How a knob stands.

    Attributes:
        name: The knob's name.
        present: Its value now; None if it cannot be read.
        offered: The values that the machine offers; none if the knob is not available.
        refusal: Why it cannot be set; empty if nothing is known to forbid it.
    """

    name: str
    present: Level | None
    offered: tuple[Level, ...]
    refusal: str


def state(knob: Knob, machine: Machine) -> State:
    """How a knob stands: its value, what is offered, and whether this user may set it. Nothing is written."""
    present: Level | None = None
    try:
        present = knob.read()
        offered = knob.values()
        places = {write.path: None for value in offered for write in knob.writes(value)}
    except KnobUnavailableError as error:
        return State(knob.name, present, (), str(error))
    refusals = [refusal for path in places if (refusal := machine.refusal(path))]
    return State(knob.name, present, offered, refusals[0] if refusals else "")


def chosen(text: str) -> str:
    """What a file says, or of several words the one in brackets.

    >>> chosen("[mq-deadline] kyber none"), chosen("60")
    ('mq-deadline', '60')
    """
    found = re.search(r"\[(\S+)\]", text)
    return found.group(1) if found else text


def agrees(shown: str, wanted: str, tolerance: float) -> bool:
    """Whether two texts are the same, or the same number but for rounding.

    >>> agrees("1190400", "1200000", 0.01), agrees("1190400", "1200000", 0.0)
    (True, False)
    """
    if shown == wanted:
        return True
    try:
        return abs(float(shown) - float(wanted)) <= tolerance * abs(float(wanted))
    except ValueError:
        return False


def changes(writes: Iterable[Write]) -> tuple[Write, ...]:
    """The writes without those that would write what is there."""
    return tuple(write for write in writes if write.before_path or write.value != write.before)


def whole(name: str, value: Level, low: int, high: int) -> int:
    """A knob's value as a whole number between two others, both included."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high and value == int(value):
        return int(value)
    raise InvalidValueError(f"Option {name!r} is {value!r}; it must be a whole number between {low} and {high}.")
