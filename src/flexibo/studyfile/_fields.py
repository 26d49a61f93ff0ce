"""The keys of a mapping in a study file, read with their types; errors are noted with their positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from flexibo._internal.durations import parse_seconds, parse_share
from flexibo.errors import FlexiBOError
from flexibo.studyfile._yaml_nodes import NOTHING, Node, YamlList, YamlMapping, YamlScalar
from flexibo.studyfile.mistakes import Mistakes, Position, nearest

Value = TypeVar("Value")
_OTHERS = {
    "command": ("script", "shell"),
    "direction": ("goal",),
    "from": ("low", "min", "minimum"),
    "function": ("callable", "code"),
    "measured_by": ("by",),
    "method": ("algorithm",),
    "n_initial": ("initial",),
    "noisy": ("noise",),
    "objectives": ("metrics",),
    "options": ("depends_on", "parameters", "space"),
    "storage": ("database",),
    "timeout": ("time_limit",),
    "to": ("high", "max", "maximum"),
    "unordered": ("choices", "values"),
    "valid": ("rule",),
    "when": ("condition",),
}
SYNONYMS = {other: key for key, others in _OTHERS.items() for other in others}  # names of our keys in other tools

WHOLE = "a whole number such as 27, or a list of them, as in [1, 3, 9, 27]"
MOST = 1_000_000_000  # the default upper bound of whole numbers


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping whose keys are read one by one; errors are added to the mistakes."""

    table: YamlMapping
    mistakes: Mistakes
    of: str = ""  # what the mapping describes, for messages: " of objective 'error'"; empty for the file itself

    def check_keys(self, known: Collection[str]) -> None:
        for entry in self.table.entries:
            if entry.key not in known:
                other = SYNONYMS.get(entry.key)
                hint = f"; did you mean {other!r}?" if other in known else nearest(entry.key, known)
                where = self.of.removeprefix(" of ") or "a study file"
                self.mistakes.add(entry.place, f"There is no key {entry.key!r} in {where}{hint}")

    def has(self, key: str) -> bool:
        return self.table.get(key) is not None

    def place(self, key: str) -> Position:
        """The position of a key, or else of the mapping."""
        return self.table.place_of(key)

    def note(self, key: str, sentence: str) -> None:
        self.mistakes.add(self.place(key), sentence)

    def text(self, key: str) -> str | None:
        """A text that is not empty; None if it is missing or wrong."""
        expected = "a text that is not empty; put a number that is meant as a text in quotes"
        return self._read(key, lambda value: value if isinstance(value, str) and value.strip() else None, expected)

    def one_of(self, key: str, known: Collection[str]) -> str | None:
        name = self.text(key)
        if name is not None and name not in known:
            self.note(key, f"Unknown {key} {name!r}{self.of}{nearest(name, known)}")
            return None
        return name

    def number(self, key: str) -> int | float | None:
        return self._read(key, lambda value: value if is_number(value) and math.isfinite(value) else None, "a number")

    def bound(self, key: str) -> int | float | None:
        """A number, or inf or -inf, written as YAML or as Python writes it."""
        return self._read(key, _bound, "a number, or inf or -inf for no bound")

    def whole(self, key: str, least: int, most: int = MOST) -> int | None:
        node = self.table.get(key)
        is_large = isinstance(node, YamlScalar) and is_number(node.value) and node.value > most
        expected = f"a whole number, {least} or more" + (f" and at most {most}" if is_large else "")
        return self._read(key, lambda value: value if type(value) is int and least <= value <= most else None, expected)

    def flag(self, key: str) -> bool | None:
        return self._read(key, lambda value: value if isinstance(value, bool) else None, "true or false")

    def duration(self, key: str) -> float | None:
        """Seconds: a positive number, or a text such as 30m."""
        return self._read(key, lambda value: _parsed(value, parse_seconds), "a duration such as 90, 90s, 30m, 2h or 1d")

    def share(self, key: str) -> float | None:
        """A share: a number below 1, or a text such as 5%."""
        return self._read(key, lambda value: _parsed(value, parse_share), "a share such as 5% or 0.05, below 100%")

    def whole_numbers(self, key: str) -> int | list[int] | None:
        """A whole number, or a list of them."""
        node = self.table.get(key)
        if not isinstance(node, YamlList):
            return self._read(key, lambda value: value if type(value) is int else None, WHOLE)
        found: list[int] = []
        for item in node.items:
            value = item.value if isinstance(item, YamlScalar) else None
            if type(value) is int:
                found.append(value)
            elif not _is_noted(item):
                self.mistakes.add(item.place, f"{shown(item)} in {key}{self.of} must be a whole number.")
        return found

    def _read(self, key: str, accept: Callable[[Any], Value | None], expected: str) -> Value | None:
        """What `accept` returns for the value of a key; None if the key is missing, or wrong, which is noted."""
        node = self.table.get(key)
        if node is None:
            return None
        value = accept(node.value) if isinstance(node, YamlScalar) else None
        if value is None:
            self._wrong(key, node, expected)
        return value

    def names(self, key: str, known: Collection[str] | None, what: str) -> tuple[str, ...] | None:
        """A list of known names, without duplicates."""
        node = self.table.get(key)
        if node is None:
            return None
        if not isinstance(node, YamlList):
            self._wrong(key, node, f"a list of {what}s, as in [{', '.join(list(known or ['a', 'b'])[:2])}]")
            return None
        found: list[str] = []
        for item in node.items:
            value = item.value if isinstance(item, YamlScalar) else None
            if not isinstance(value, str):
                if not _is_noted(item):
                    self.mistakes.add(item.place, f"{shown(item)} in {key}{self.of} is not the name of {_a(what)}.")
            elif known is not None and value not in known:
                self.mistakes.add(item.place, f"Unknown {what} {value!r} in {key}{self.of}{nearest(value, known)}")
            elif value in found:
                self.mistakes.add(item.place, f"{value!r} is named twice in {key}{self.of}.")
            else:
                found.append(value)
        return tuple(found)

    def amounts(self, key: str, known: Collection[str] | None, what: str) -> dict[str, float] | None:
        inner = self.inner(key, f" of {key}{self.of}", f"a mapping of {what}s to numbers")
        if inner is None:
            return None
        if known is not None:
            for entry in inner.table.entries:
                if entry.key not in known:
                    hint = nearest(entry.key, known)
                    self.mistakes.add(entry.place, f"Unknown {what} {entry.key!r} in {key}{self.of}{hint}")
        found = {entry.key: inner.number(entry.key) for entry in inner.table.entries}
        return {name: float(number) for name, number in found.items() if number is not None}

    def inner(self, key: str, of: str, expected: str) -> Fields | None:
        node = self.table.get(key)
        if node is None:
            return None
        if isinstance(node, YamlMapping):
            return Fields(node, self.mistakes, of)
        self._wrong(key, node, expected)
        return None

    def _wrong(self, key: str, node: Node, expected: str) -> None:
        """Note a value of the wrong type, unless it was noted already as ambiguous."""
        if _is_noted(node):
            return
        if isinstance(node, YamlScalar) and node.value is None:
            self.note(key, f"{key}{self.of} has no value; it must be {expected}, or be left out.")
        else:
            self.mistakes.add(node.place, f"{key}{self.of} is {shown(node)}; it must be {expected}.")


def _is_noted(node: Node) -> bool:
    """Whether a value was noted already as ambiguous."""
    return isinstance(node, YamlScalar) and node.value is None and node.text not in NOTHING


def _a(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def is_number(value: object) -> bool:
    """Whether a value is an int or a float, but not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _parsed(value: object, parse: Callable[[str], float | None]) -> float | None:
    return parse(str(value)) if is_number(value) or isinstance(value, str) else None


def shown(node: Node) -> str:
    if isinstance(node, YamlScalar):
        text = repr(node.value) if isinstance(node.value, str) else node.text or "nothing"
        return text if len(text) <= 60 else f"{text[:57]}..."
    return "a list" if isinstance(node, YamlList) else "a mapping"


def cause(make: Callable[[dict[str, Any]], object], settings: Mapping[str, Any]) -> str:
    """The first setting without which `make` raises no error; empty where it is not a single one."""
    for key in settings:
        try:
            make({name: value for name, value in settings.items() if name != key})
        except FlexiBOError:
            continue
        return key
    return ""


def _bound(value: Any) -> int | float | None:
    if isinstance(value, str) and value.lower() in ("inf", ".inf", "-inf", "-.inf"):
        return -math.inf if value.startswith("-") else math.inf
    return value if is_number(value) and not math.isnan(value) else None
