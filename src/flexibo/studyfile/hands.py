"""Objectives that nobody but a person, or another program, measures: asked and told on the command line."""

from __future__ import annotations

from flexibo.studyfile._fields import Fields
from flexibo.studyfile._yaml_nodes import YamlMapping

HAND = "hand"
KEY = "measured_by"


def is_by_hand(fields: Fields) -> bool:
    """Whether the keys of an objective say that it is measured by hand; another word there is noted."""
    by = fields.text(KEY)
    if by is not None and by != HAND:
        fields.note(
            KEY,
            f"{KEY}{fields.of} is {by!r}; it must be {HAND} (asked with flexibo ask, answered with flexibo tell). A "
            "function or a command has a key of its own.",
        )
    return fields.has(KEY)


def check_hands(fields: Fields) -> None:
    """Note functions of the file that ``flexibo ask`` would need: it has the database alone."""
    by_hand = _first_by_hand(fields)
    if not by_hand:
        return
    for key, instead in (("valid", "list the legal designs under designs"), ("cost", "give one of the known costs")):
        text = fields.text(key) if fields.has(key) else None
        if text is not None and ":" in text:
            fields.note(
                key,
                f"{key} is a function, which flexibo ask does not have, and objective {by_hand!r} is measured by hand; "
                f"{instead}.",
            )


def _first_by_hand(fields: Fields) -> str:
    node = fields.table.get("objectives")
    entries = node.entries if isinstance(node, YamlMapping) else ()
    return next((e.key for e in entries if isinstance(e.node, YamlMapping) and e.node.get(KEY) is not None), "")
