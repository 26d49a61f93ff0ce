"""What a user wants to change in a study, and what changed, for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from flexibo._internal.text import printable_line
from flexibo.belief.costs import CostCallable
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.objectives import Objective
from flexibo.space import Categorical, Ordinal, Space
from flexibo.space.options import Option
from flexibo.surrogates import Surrogate

SHOWN_VALUES = 8


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
"""In place of an argument that was not given, where None means something."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that changed, as it was and as it is; either may be empty. A `minor` one need not be asked for."""

    what: str
    before: str
    after: str
    minor: bool = field(default=False, kw_only=True)

    @property
    def line(self) -> str:
        """The change in a line.

        >>> Change("method", "flexibo", "parego").line
        'method: flexibo -> parego'
        """
        if not self.before or not self.after:
            return f"{self.what}: {self.after}" if self.after else f"{self.what}: {self.before} is removed"
        return f"{self.what}: {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed in a study, or would change; print it. It is false if nothing did.

    Attributes:
        rows: The changes, one by one.
        outside: How many designs that were asked about are not legal any more: models learn from them, and they are
            neither asked for nor reported.
        seen: How many designs were asked about.
    """

    rows: tuple[Change, ...] = ()
    outside: int = 0
    seen: int = 0

    def __bool__(self) -> bool:
        return bool(self.rows)

    def __str__(self) -> str:
        if not self.rows:
            return "Nothing changes."
        cells = [("", "before", "after"), *((row.what, row.before or "-", row.after or "-") for row in self.rows)]
        shown = [[printable_line(cell) for cell in line] for line in cells]
        widths = [max(len(line[column]) for line in shown) for column in (0, 1)]
        lines = [f"{line[0]:<{widths[0]}}  {line[1]:<{widths[1]}}  {line[2]}".rstrip() for line in shown]
        if self.outside:
            lines.append(
                f"{self.outside} of {self.seen} known designs are outside: models learn from them, and they are not "
                "reported."
            )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """What shall change; what is not given stays as it is. See `Study.change`."""

    options: Mapping[str, object] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)
    conditions: Mapping[str, Mapping[str, object]] | None = None
    valid: Callable[..., object] | Unset | None = UNSET
    space: Space | None = None
    objectives: Iterable[Objective | str] = ()
    only_these: bool = False  # whether `objectives` are all of them
    limits: Mapping[str, float | None] = field(default_factory=dict)
    reference: Mapping[str, float] | Sequence[float] | None = None
    method: str | None = None
    budget: float | str | Unset | None = UNSET
    cost: str | CostCallable | Unset | None = UNSET
    surrogate: str | Surrogate | Unset | None = UNSET
    candidates: int | None = None
    delta: float | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.space is not None and not isinstance(self.space, Space):
            raise InvalidTypeError(f"The space is {self.space!r}; give Space(...), or options=...")
        if self.space is not None and (self.options or self.conditions is not None):
            raise InvalidValueError("Both a space and options or conditions are given; give one of them.")
        if isinstance(self.objectives, str | Objective | Mapping) or not isinstance(self.objectives, Iterable):
            raise InvalidTypeError(f"objectives is {self.objectives!r}; give a list of objectives.")
        for name in ("options", "defaults", "limits"):
            if not isinstance(getattr(self, name), Mapping):
                raise InvalidTypeError(f"{name} is {getattr(self, name)!r}; give a mapping by name.")
        object.__setattr__(self, "objectives", tuple(self.objectives))


def option_text(option: Option) -> str:
    """The legal values of an option, in a few words.

    >>> from flexibo.space import Integer, Real
    >>> option_text(Real(1e-5, 0.1, log=True)), option_text(Integer(1, 6)), option_text(Categorical(["a", "b"]))
    ('1e-05 to 0.1 (log)', '1 to 6', 'a, b')
    """
    if isinstance(option, Categorical | Ordinal):
        shown = ", ".join(map(str, option.values[:SHOWN_VALUES]))
        return shown + (f", ... ({option.size} values)" if option.size > SHOWN_VALUES else "")
    return f"{option.low:.10g} to {option.high:.10g}{' (log)' if option.log else ''}"
