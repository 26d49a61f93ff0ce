"""Values that are typed as text: lists of names, durations, shares, resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flexibo._internal.durations import parse_seconds, parse_share
from flexibo.errors import InvalidValueError


def parsed_names(given: Iterable[str]) -> list[str]:
    """The names in an option that may be repeated and may hold several, separated by commas or spaces.

    >>> parsed_names(["a,b", "c a"])
    ['a', 'b', 'c']
    """
    return list(dict.fromkeys(name for text in given for name in text.replace(",", " ").split()))


def parsed_seconds(text: str) -> float:
    """The seconds in a duration: a number, of seconds unless s, m, h or d follows.

    >>> parsed_seconds("30m"), parsed_seconds("1.5h"), parsed_seconds("90")
    (1800.0, 5400.0, 90.0)
    """
    value = parse_seconds(text)
    if value is None:
        raise InvalidValueError(f"The duration is {text!r}; give a positive number such as 90, 30m, 2h or 1d.")
    return value


def parsed_share(text: str) -> float:
    """A share below 1, as a number or in per cent.

    >>> parsed_share("5%"), parsed_share("0.1")
    (0.05, 0.1)
    """
    value = parse_share(text)
    if value is None:
        raise InvalidValueError(f"The share is {text!r}; give one below 100 %, such as 5% or 0.05.")
    return value


def parsed_resources(given: Iterable[str]) -> Mapping[str, float]:
    """The resources in options such as ``jetson=1,GPU=2``; a name alone means an amount of 1.

    >>> dict(parsed_resources(["jetson,GPU=2"]))
    {'jetson': 1.0, 'GPU': 2.0}
    """
    from flexibo.objectives import checked_resources

    found = {}
    for text in parsed_names(given):
        name, sign, amount = text.partition("=")
        try:
            found[name] = float(amount) if sign else 1.0
        except ValueError:
            raise InvalidValueError(f"--resources has {text!r}; give NAME=AMOUNT, such as jetson=1.") from None
    return checked_resources(found, "--resources")
