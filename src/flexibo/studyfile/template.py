"""Shell commands with places for the values of options.

A value never becomes part of the program that the shell reads: ``{option}`` stands for a quoted reference to the
environment variable that holds the value, so whatever is in it, ``$(reboot)`` or ``'; reboot``, arrives as one literal
argument. Within quotes of the template such a reference would mean something else, so it is refused there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from flexibo.space.options import Value
from flexibo.studyfile.mistakes import nearest

PREFIX = "FLEXIBO_OPTION_"
WORD = re.compile(r"\{([^\W\d][\w.-]*)\}")
"""What looks like a placeholder; other braces, as in ``awk '{print $1}'``, are the shell's."""
LITERAL = re.compile(r"\{(\{[^\W\d][\w.-]*\})\}")


@dataclass(frozen=True, slots=True)
class Template:
    """A command with placeholders.

    Attributes:
        text: The command as it was written.
        pieces: The parts of the command, and between any two of them an option's value.
        options: The options whose values stand between the pieces.
    """

    text: str
    pieces: tuple[str, ...]
    options: tuple[str, ...]

    @property
    def script(self) -> str:
        """What the shell runs: each value is a reference to a variable of its environment."""
        references = [f'"${{{variable(name)}}}"' for name in self.options]
        return "".join(part for pair in zip(self.pieces, [*references, ""], strict=True) for part in pair)

    def filled(self, design: Mapping[str, Value]) -> str:
        """The command for people to read and to try: the same words, with the values in quotes.

        >>> parsed("run --speed {speed}", ["speed"])[0].filled({"speed": "$(reboot)"})
        "run --speed '$(reboot)'"
        """
        values = [shlex.quote(in_words(design[name])) for name in self.options]
        return "".join(part for pair in zip(self.pieces, [*values, ""], strict=True) for part in pair)


def variable(option: str) -> str:
    """The environment variable of an option.

    >>> variable("batch size")
    'FLEXIBO_OPTION_BATCH_SIZE'
    """
    return PREFIX + re.sub(r"[^A-Za-z0-9]", "_", option).upper()


def in_words(value: Value) -> str:
    """The value of an option as a command sees it; an option that does not matter is empty.

    >>> [in_words(value) for value in (16, 0.5, "3x3", True, None)]
    ['16', '0.5', '3x3', 'true', '']
    """
    if value is None:
        return ""
    return ("false", "true")[value] if isinstance(value, bool) else str(value)


def parsed(text: str, options: Collection[str]) -> tuple[Template, list[str]]:
    """A command as a template, and a sentence for each thing that is wrong with it.

    ``{{word}}`` stands for the text ``{word}``.
    """
    pieces, used, wrong, start = [""], [], [], 0
    for place, kind, found in _placeholders(text, options):
        pieces[-1] += text[start:place]
        start = place + len(found)
        name = found.strip("{}")
        if kind == "literal":
            pieces[-1] += found[1:-1]
            continue
        if name not in options:
            hint = nearest(name, options)
            wrong.append(f"{found} names no option{hint} For the braces themselves write {{{found}}}.")
        elif kind != "free":
            wrong.append(
                f"{found} stands inside {kind}, where it cannot be quoted safely; take it out of there, for its value "
                f"is quoted already, or write ${variable(name)} in double quotes."
            )
        used.append(name)
        pieces.append("")
    pieces[-1] += text[start:]
    return Template(text, tuple(pieces), tuple(used)), wrong


def _placeholders(text: str, options: Collection[str]) -> Iterator[tuple[int, str, str]]:
    """Each placeholder: where it is, what it stands in ("free" for nothing), and its text."""
    known = re.compile("|".join(re.escape(f"{{{name}}}") for name in options) or r"(?!)")
    inside, place = "free", 0
    while place < len(text):
        character = text[place]
        found = LITERAL.match(text, place) or known.match(text, place) or WORD.match(text, place)
        if found and text[place - 1 : place] != "$":
            is_literal = found.re is LITERAL
            yield place, "literal" if is_literal else inside, found[0]
            place = found.end()
            continue
        if character == "\\" and inside != "single quotes":
            place += 2
            continue
        if character == "#" and inside == "free" and (place == 0 or text[place - 1].isspace()):
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
            continue
        inside = _after(text, place, inside)
        place += 1


def _after(text: str, place: int, inside: str) -> str:
    """What the text after a character stands in."""
    character = text[place]
    quotes = {"'": "single quotes", '"': "double quotes", "`": "backquotes"}
    if inside == "free":
        return "a here-document" if text.startswith("<<", place) else quotes.get(character, "free")
    return "free" if quotes.get(character) == inside else inside
