"""JSON that another program, another host or a damaged disk may have written."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

MOST_LEVELS = 64  # of lists and objects in each other; no file of flexibo has ten
MOST_DIGITS = 300  # of a whole number: it must have a float


def untrusted_json(text: str | bytes) -> Any:
    """The value of a JSON text; ValueError unless it can be used without a further thought.

    Refused are numbers that are not finite or have no float, deep nesting, and texts that are no valid Unicode. What is
    no JSON at all, such as a line that was cut short, is a JSONDecodeError.

    >>> untrusted_json('{"error": 12.5}')
    {'error': 12.5}
    >>> untrusted_json("[1e999]")
    Traceback (most recent call last):
        ...
    ValueError: it has the number 1e999, which is too large
    """
    try:
        value = json.loads(text, parse_constant=_constant, parse_float=_real, parse_int=_whole)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check_form(value)
    return value


def _check_form(value: Any) -> None:
    level = [value]
    for _ in range(MOST_LEVELS):
        for one in level:
            if isinstance(one, str):
                one.encode()  # half of a surrogate pair is a UnicodeEncodeError, which is a ValueError
        level = [item for one in level for item in ((*one, *one.values()) if isinstance(one, dict) else _items(one))]
        if not level:
            return
    raise ValueError("it is nested too deeply")


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _constant(text: str) -> NoReturn:
    raise ValueError(f"it has {text}, which is no number")


def _real(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"it has the number {text[:20]}, which is too large")
    return number


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"it has a number of {len(text)} digits, which is too large")
    return int(text)
