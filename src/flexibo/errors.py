"""The exceptions of flexibo: what is wrong, what was given and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

MOST_NAMES = 24
MOST_NEAR = 5
"""The most names that an error lists if some are similar to the given one, and the most similar ones."""


class FlexiBOError(Exception):
    """The base class of all exceptions that flexibo raises on purpose.

    Attributes:
        argument: The name of the argument or setting that is wrong, for code that handles the error; may be empty.
    """

    argument: str = ""

    def __init__(self, *args: object, argument: str = "") -> None:
        super().__init__(*args)
        self.argument = argument


class InvalidValueError(FlexiBOError, ValueError):
    """An argument has a value that cannot be used."""


class InvalidTypeError(FlexiBOError, TypeError):
    """An argument has a type that cannot be used."""


class UnknownNameError(InvalidValueError):
    """A name was given that is not in its table."""


class MissingExtraError(FlexiBOError, ImportError):
    """A feature needs a package that is not installed."""


class SettingsDifferError(InvalidValueError):
    """A stored study was created with other settings than those given.

    Args:
        difference: A sentence about what differs.
        advice: A sentence about what to do.
    """

    def __init__(self, difference: str, advice: str) -> None:
        super().__init__(difference, advice)
        self.difference = difference

    def __str__(self) -> str:
        return " ".join(map(str, self.args))


class MachineError(FlexiBOError):
    """The machine is at fault, not the design: the study stops, and can be resumed once the machine is fixed."""


class DesignError(FlexiBOError):
    """A design cannot be measured at all: another attempt, or another machine, would not help.

    Attributes:
        cost: What the attempt cost, a number of at least 0; None if it is the time that it took.
    """

    cost: float | None = None

    def __init__(self, *args: object, argument: str = "", cost: float | None = None) -> None:
        super().__init__(*args, argument=argument)
        self.cost = cost


class FunctionError(FlexiBOError):
    """The first call of a function raised an error in another process; its traceback is in a note."""


def unknown_name(what: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """An error that lists the known names and suggests a similar one, ignoring case.

    >>> str(unknown_name("method", "flexbo", ["flexibo", "random"]))
    "Unknown method 'flexbo'; did you mean 'flexibo'? Known: flexibo, random."

    Of a long list only similar names are shown, if there are any.
    """
    names = sorted(known)
    by_lower = {other.lower(): other for other in names}
    near = [by_lower[lower] for lower in difflib.get_close_matches(str(name).lower(), by_lower, n=MOST_NEAR)]
    hint = f"; did you mean {near[0]!r}?" if near else "."
    is_long = bool(near) and len(names) > MOST_NAMES
    listed = f"{', '.join(sorted(near))} and {len(names) - len(near)} others" if is_long else ", ".join(names)
    return UnknownNameError(f"Unknown {what} {name!r}{hint} Known: {listed}.")


def raise_all(mistakes: Sequence[FlexiBOError]) -> None:
    """Raise the mistakes that were found: one as it is, several as one error with their sentences; none is fine."""
    if len(mistakes) == 1:
        raise mistakes[0]
    if mistakes:
        raise InvalidValueError(" ".join(map(str, mistakes)))


def missing_extra(package: str, extra: str) -> MissingExtraError:
    """An error that names the extra to install.

    >>> str(missing_extra("pandas", "pandas"))
    "This needs pandas, not installed here; install the extra with: pip install 'flexibo[pandas]'."
    """
    return MissingExtraError(
        f"This needs {package}, not installed here; install the extra with: pip install 'flexibo[{extra}]'."
    )
