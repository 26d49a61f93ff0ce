"""YAML as nodes with their positions, read so that nothing is guessed.

A file is not trusted: its size and depth are limited, and tags and aliases, with which a small file can stand for a
huge one, are refused. YAML 1.1 and YAML 1.2 read some words differently (``no``, ``012``, ``1:30``): such a word is a
mistake that asks for quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml
from yaml.nodes import MappingNode, ScalarNode

from flexibo.studyfile.mistakes import Mistakes, Position

MOST_BYTES = 1_000_000
DEEPEST = 12  # how deep lists and mappings may be nested; a study needs 5
MOST_NODES = 20_000
MOST_ITEMS = 10_000  # how many values a list may have
MOST_KEYS = 500  # how many keys a mapping may have: options, objectives

NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
AMBIGUOUS = re.compile(  # what YAML 1.1 and YAML 1.2 read differently
    r"(?i:yes|no|on|off)|[-+]?0\d+|[-+]?0[xob][\da-fA-F_]+|[-+]?\d[\d_]*_[\d_.]*|[-+]?\d+(:[0-5]?\d)+(\.\d*)?"
)
LONGEST_NUMBER = 300  # longer words are texts; the largest float has fewer characters
TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
RESERVED = ("@", "`", "%")  # characters that no text without quotes begins with
NOTHING = ("", "~", "null", "Null", "NULL")
TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class YamlScalar:
    """A single value: None, a bool, an int, a float or a str."""

    value: Any
    place: Position
    text: str


@dataclass(frozen=True, slots=True)
class YamlList:
    items: tuple[Node, ...]
    place: Position


@dataclass(frozen=True, slots=True)
class YamlEntry:
    key: str
    place: Position
    node: Node


@dataclass(frozen=True, slots=True)
class YamlMapping:
    """A mapping with unique text keys; `unread` are keys that are not text or are ambiguous, as they are written."""

    entries: tuple[YamlEntry, ...]
    place: Position
    unread: tuple[str, ...] = ()

    def get(self, key: str) -> Node | None:
        return next((entry.node for entry in self.entries if entry.key == key), None)

    def place_of(self, key: str) -> Position:
        """The position of a key, or of the mapping if it is missing."""
        return next((entry.place for entry in self.entries if entry.key == key), self.place)


Node: TypeAlias = YamlScalar | YamlList | YamlMapping


def nodes_of(text: str, mistakes: Mistakes) -> Node | None:
    """The nodes of a YAML text; None, and mistakes, where it is none."""
    try:
        if not _is_bounded(text, mistakes):
            return None
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        _note(error, text, mistakes)
        return None
    return None if root is None else _converted(root, mistakes)


def _is_bounded(text: str, mistakes: Mistakes) -> bool:
    """Whether the text is neither too deep nor too large, and has no aliases; no node is built."""
    room: list[int] = []  # how many more nodes each open collection may have
    left = MOST_NODES
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        problem = ""
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            mark = ("*" if isinstance(event, yaml.AliasEvent) else "&") + str(event.anchor)
            problem = f"{mark} is an alias or an anchor, which study files do without; write the value out."
        if isinstance(event, yaml.NodeEvent):
            left -= 1
            if room:
                room[-1] -= 1
        if left < 0:
            problem = f"The file has more than {MOST_NODES} keys and values up to here; a large table is for designs."
        elif room and room[-1] < 0:
            problem = (
                f"A list has at most {MOST_ITEMS} values and a mapping at most {MOST_KEYS} keys in a study file; this "
                "one has more. Give a range, {from: 1, to: 9}, or a table under designs."
            )
        if isinstance(event, yaml.CollectionStartEvent):
            room.append(MOST_ITEMS if isinstance(event, yaml.SequenceStartEvent) else 2 * MOST_KEYS)
        elif isinstance(event, yaml.CollectionEndEvent):
            room.pop()
        if len(room) > DEEPEST:
            problem = f"Lists and mappings are nested more than {DEEPEST} deep; a study file needs 5."
        if problem:
            mistakes.add(_place(event.start_mark), problem)
            return False
    return True


def _note(error: yaml.YAMLError, text: str, mistakes: Mistakes) -> None:
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        place = Position(before.count("\n") + 1, error.position - before.rfind("\n"))
        mistakes.add(place, f"The character {text[error.position]!r} must not stand in a YAML file; take it out.")
        return
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = str(getattr(error, "problem", None) or error)
    place = Position(1, 1) if mark is None else _place(mark)
    character = "" if mark is None else text[mark.index : mark.index + 1]
    if character == "\t":
        mistakes.add(place, "There is a tab, which must not stand here in YAML; use spaces.")
    elif character in RESERVED:
        mistakes.add(place, f"A text cannot begin with {character} in YAML; put it in quotes.")
    elif isinstance(error, yaml.composer.ComposerError):  # aliases are refused before
        mistakes.add(place, "A second document begins here (---); a study file holds one.")
    else:
        context = getattr(error, "context", None)
        why = f"{problem} ({context})" if context else problem
        mistakes.add(
            place,
            f"This is not YAML: {why}; look for a text with a colon that needs quotes, a quote or bracket that is "
            "not closed, or an uneven margin.",
        )


def _converted(node: yaml.Node, mistakes: Mistakes) -> Node:
    place = _place(node.start_mark)
    if isinstance(node, ScalarNode):
        return _scalar(node, place, mistakes)
    if node.tag not in (TAG + "map", TAG + "seq"):
        mistakes.add(place, _no_tags(node.tag))
    if isinstance(node, MappingNode):
        unread: list[str] = []
        return YamlMapping(tuple(_entries(node, mistakes, unread)), place, tuple(unread))
    return YamlList(tuple(_converted(item, mistakes) for item in node.value), place)


def _entries(node: yaml.MappingNode, mistakes: Mistakes, unread: list[str]) -> Iterator[YamlEntry]:
    """The entries of a mapping; keys that cannot be read are added to `unread`."""
    lines: dict[str, int] = {}
    for key_node, value in node.value:
        place = _place(key_node.start_mark)
        if not isinstance(key_node, ScalarNode):
            mistakes.add(place, "A key is a list or a mapping; keys are texts.")
            continue
        key = _scalar(key_node, place, mistakes)
        if not isinstance(key.value, str):
            if not _is_ambiguous(key.text):
                mistakes.add(place, f'The key {key.text or "here"} is not text; write it in quotes: "{key.text}".')
            unread.append(key.text)
            continue
        if key.value in lines:
            mistakes.add(place, f"The key {key.value!r} is here a second time; it stands in line {lines[key.value]}.")
            continue
        lines[key.value] = place.line
        yield YamlEntry(key.value, place, _converted(value, mistakes))


def _scalar(node: yaml.ScalarNode, place: Position, mistakes: Mistakes) -> YamlScalar:
    text = node.value
    if node.style in ("'", '"', "|", ">"):
        if node.tag != TAG + "str":
            mistakes.add(place, _no_tags(node.tag))
        return YamlScalar(text, place, text)
    if node.start_mark.buffer is not None and node.start_mark.buffer[node.start_mark.pointer] == "!":
        mistakes.add(place, _no_tags(node.tag))
        return YamlScalar(text, place, text)
    if _is_ambiguous(text):
        mistakes.add(place, _ambiguous(text))
        return YamlScalar(None, place, text)
    return YamlScalar(_plain_value(text), place, text)


def _plain_value(text: str) -> Any:
    """The value of a word without quotes.

    >>> [_plain_value(text) for text in ("true", "null", "16", "1e3", "3x3")]
    [True, None, 16, 1000.0, '3x3']
    """
    if text in TRUTHS:
        return TRUTHS[text]
    if text in NOTHING:
        return None
    if text.lower().lstrip("+-") in (".inf", ".nan"):
        return float(text.lower().replace(".", ""))
    match = NUMBER.fullmatch(text)
    if match is None:
        return text
    is_whole = match[2] is None and match[3] is None and not text.lstrip("+-").startswith(".")
    return int(text) if is_whole and len(text) <= LONGEST_NUMBER else float(text)


def _is_ambiguous(text: str) -> bool:
    return len(text) <= LONGEST_NUMBER and AMBIGUOUS.fullmatch(text) is not None


def _ambiguous(text: str) -> str:
    """The message for an ambiguous word, with what to write instead."""
    if text.lower() in ("yes", "on", "no", "off"):
        truth = "true" if text.lower() in ("yes", "on") else "false"
        return f'{text} is the same as {truth} to some YAML readers and a text to others; write "{text}", or {truth}.'
    return (
        f"{text} is one number to some YAML readers and another, or a text, to others; write the number in plain "
        f'digits, or "{text}" for the text.'
    )


def _no_tags(tag: str) -> str:
    return f"{tag.replace(TAG, '!!')} is a tag, which study files do without; leave it out."


def _place(mark: Any) -> Position:
    return Position(mark.line + 1, mark.column + 1)
