"""The contract of a knob: a setting of the machine that is an option of designs.

A knob never writes. It lists the writes for a value, and a session performs them on a `Machine`, so that all of them
can be shown in advance, recorded in a journal, verified and undone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from flexibo.errors import InvalidValueError, MachineError

Level: TypeAlias = str | int | float  # a value of a knob: a word, or a number in its unit (GHz, watts, percent)


class KnobError(MachineError, OSError):
    """A setting could not be changed; earlier changes were restored."""


class KnobUnavailableError(KnobError):
    """This machine does not have the knob, or it cannot be read; the message says why."""


class RestoreError(KnobError):
    """Some settings could not be restored; the message names them and the journal keeps them."""


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders of the kernel's files; different in tests and containers."""

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Roots:
        """The folders of this machine; FLEXIBO_SYS and FLEXIBO_PROC name them where they are elsewhere.

        >>> str(Roots.of_environment({"FLEXIBO_SYS": "/host/sys"}).sys)
        '/host/sys'
        """
        return cls(Path(environment.get("FLEXIBO_SYS") or "/sys"), Path(environment.get("FLEXIBO_PROC") or "/proc"))


HERE = Roots()


@dataclass(frozen=True, slots=True)
class Write:
    """One text written to one place, and how to undo it.

    Attributes:
        path: The file, or a name such as "nvml:0/power_limit_mw" for a setting without a file.
        value: The text to write.
        before: The text that restores the setting.
        before_path: Where `before` is written, if not to `path`.
        tolerance: The relative difference allowed when the value is read back, because a kernel may round.
        readable: Whether the value can be read back.
        steady: Whether a restored value stays; that of an unlocked clock does not.
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
        """The place that `before` is written to."""
        return self.before_path or self.path


class Machine(Protocol):
    """What knobs read and write: short texts in named places."""

    @property
    def roots(self) -> Roots:
        """The folders of the kernel's files."""

    def read(self, path: str) -> str:
        """The present text, stripped of spaces; raises OSError if it cannot be read."""

    def write(self, path: str, text: str) -> None:
        """Write a text; raises OSError if it is refused."""

    def refusal(self, path: str) -> str:
        """Why a place cannot be written to, as a sentence; empty if nothing is known to forbid it."""


class Knob(Protocol):
    """A setting of the machine that is an option of designs."""

    @property
    def name(self) -> str:
        """The option's name."""

    def values(self) -> tuple[Level, ...]:
        """The values that this machine offers, at least one.

        Raises:
            KnobUnavailableError: It offers none; the message says why.
        """

    def read(self) -> Level:
        """The value now."""

    def writes(self, value: Level) -> tuple[Write, ...]:
        """The writes that change the present state to this value, in an order that is legal at every step.

        Empty if the machine has this value already.

        Raises:
            InvalidValueError: The machine has no such value.
        """


@dataclass(frozen=True, slots=True)
class State:
    """The state of a knob.

    Attributes:
        name: The name of the knob.
        present: Its value now; None if it cannot be read.
        offered: The values that the machine offers; empty if the knob is not available.
        refusal: Why it cannot be set; empty if nothing is known to forbid it.
    """

    name: str
    present: Level | None
    offered: tuple[Level, ...]
    refusal: str


def state(knob: Knob, machine: Machine) -> State:
    """The state of a knob: its value, the values offered, and whether this user may set it. Writes nothing."""
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
    """The text itself, or the word in brackets if there is one.

    >>> chosen("[mq-deadline] kyber none"), chosen("60")
    ('mq-deadline', '60')
    """
    found = re.search(r"\[(\S+)\]", text)
    return found.group(1) if found else text


def agrees(shown: str, wanted: str, tolerance: float) -> bool:
    """Whether two texts are equal, or numbers that are equal except for rounding.

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
    """The writes that change something."""
    return tuple(write for write in writes if write.before_path or write.value != write.before)


def whole(name: str, value: Level, low: int, high: int) -> int:
    """A value as a whole number from `low` to `high`."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high and value == int(value):
        return int(value)
    raise InvalidValueError(f"Option {name!r} is {value!r}; it must be a whole number between {low} and {high}.")
