"""The exceptions of flexibo: one family, each message one clear sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_NAMES = 24
MOST_NEAR = 5
"""How many names an error lists, where some are near, and how many of those."""


class FlexiBOError(Exception):
    """The parent of every exception that flexibo raises on purpose."""


class InvalidValueError(FlexiBOError, ValueError):
    """An argument has a value that cannot be used."""


class InvalidTypeError(FlexiBOError, TypeError):
    """An argument has a type that cannot be used."""


class UnknownNameError(InvalidValueError):
    """A name was given that is in no table."""


class MissingExtraError(FlexiBOError, ImportError):
    """A feature needs a package that is not installed."""


class MachineError(FlexiBOError):
    """What measures is at fault, not the design: a study stops, and goes on once it is mended."""


class DesignError(FlexiBOError):
    """A design cannot be measured by its own fault: trying again, or on a repaired machine, would change nothing."""


def unknown_name(what: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """An error that lists the known names and, where there is one, the nearest, whatever its case.

    >>> str(unknown_name("method", "flexbo", ["flexibo", "random"]))
    "Unknown method 'flexbo'; did you mean 'flexibo'? Known: flexibo, random."

    Of a long list only the names near by are told, if there are any: it would hide the sentence.
    """
    names = sorted(known)
    by_lower = {other.lower(): other for other in names}
    near = [by_lower[lower] for lower in difflib.get_close_matches(str(name).lower(), by_lower, n=MOST_NEAR)]
    hint = f"; did you mean {near[0]!r}?" if near else "."
    is_long = bool(near) and len(names) > MOST_NAMES
    listed = f"{', '.join(sorted(near))} and {len(names) - len(near)} others" if is_long else ", ".join(names)
    return UnknownNameError(f"Unknown {what} {name!r}{hint} Known: {listed}.")


def missing_extra(package: str, extra: str) -> MissingExtraError:
    """An error that names the extra to install.

    >>> str(missing_extra("pandas", "pandas"))
    "This needs pandas, which is not installed; install it with: pip install 'flexibo[pandas]'."
    """
    return MissingExtraError(
        f"This needs {package}, which is not installed; install it with: pip install 'flexibo[{extra}]'."
    )
