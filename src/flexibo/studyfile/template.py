"""Shell commands with placeholders for the values of options.

A value never becomes part of the program that the shell reads: ``{option}`` stands for a quoted reference to the
environment variable that holds the value, so any value, even ``$(reboot)`` or ``'; reboot``, arrives as one literal
argument. Within quotes of the template such a reference would mean something else, and within arithmetic some shells
run what is in the value (``a[$(reboot)]``), so it is refused there (see `flexibo.studyfile._shell_quoting`).

What the command does with its argument is beyond this: ``eval`` and ``sh -c`` run it as a program, and bash's ``let``,
``[[ {x} -eq 1 ]]``, ``test -v {x}`` and ``printf -v {x}`` evaluate it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from flexibo.space.options import Value
from flexibo.studyfile._shell_quoting import ARITHMETIC, SUBSCRIPT, Reader
from flexibo.studyfile.mistakes import nearest

PREFIX = "FLEXIBO_OPTION_"
WORD = re.compile(r"\{([^\W\d][\w.-]*)\}")
"""A placeholder; other braces, as in ``awk '{print $1}'``, are the shell's."""
MOST_WRONG = 20
"""How many mistakes are reported for one command."""
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
        """The command with the values in quotes, for people to read and try.

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
    """The value of an option as a command gets it; an inactive option is empty.

    >>> [in_words(value) for value in (16, 0.5, "3x3", True, None)]
    ['16', '0.5', '3x3', 'true', '']
    """
    if value is None:
        return ""
    return ("false", "true")[value] if isinstance(value, bool) else str(value)


def parsed(text: str, options: Collection[str]) -> tuple[Template, list[str]]:
    """A command as a template, and its mistakes.

    ``{{word}}`` stands for the text ``{word}``.
    """
    pieces, used, start = [""], [], 0
    wrong: list[str] = []
    for place, kind, found in _placeholders(text, options):
        pieces[-1] += text[start:place]
        start = place + len(found)
        name = found.strip("{}")
        if kind == "literal":
            pieces[-1] += found[1:-1]
            continue
        if len(wrong) >= MOST_WRONG:
            pass
        elif name not in options:
            hint = nearest(name, options)
            wrong.append(f"{found} names no option{hint} For the braces themselves write {{{found}}}.")
        elif kind:
            wrong.append(f"{found} stands inside {kind}, {_instead(kind, name)}")
        used.append(name)
        pieces.append("")
    pieces[-1] += text[start:]
    return Template(text, tuple(pieces), tuple(used)), wrong


def _instead(kind: str, name: str) -> str:
    """The end of a message about a misplaced placeholder: why it is wrong, and what to write."""
    if kind in (ARITHMETIC, SUBSCRIPT):
        return "where a shell may run what is in its value; compute with expr or awk, as in $(expr 10 - {x})."
    return (
        "where it cannot be quoted safely; take it out of there, for its value is quoted already, or write "
        f"${variable(name)} in double quotes."
    )


def _placeholders(text: str, options: Collection[str]) -> Iterator[tuple[int, str, str]]:
    """Each placeholder: its position, the context that forbids it (empty where it is allowed), and its text."""
    known = re.compile("|".join(re.escape(f"{{{name}}}") for name in options) or r"(?!)")
    reader = Reader(text)
    while (place := reader.place) < len(text):
        found = None
        if text[place] == "{" and text[place - 1 : place] != "$":
            found = LITERAL.match(text, place) or known.match(text, place) or WORD.match(text, place)
        if found is None:
            reader.step()
            continue
        is_literal = found.re is LITERAL
        yield place, "literal" if is_literal else reader.around, found[0]
        reader.skip(found.end(), is_literal=is_literal)
