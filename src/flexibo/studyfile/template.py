"""Shell commands with placeholders for the values of options.

A value never becomes part of the program that the shell reads: ``{option}`` stands for a quoted reference to the
environment variable that holds the value, so any value, even ``$(reboot)`` or ``'; reboot``, arrives as one literal
argument. Within quotes of the template such a reference would mean something else, and within arithmetic some shells
run what is in the value (``a[$(reboot)]``), so it is refused there.

To tell, the script is read once, from left to right, with a stack of what is open: quotes, substitutions, arithmetic
and so on. This is no whole parser of the shell. Where shells differ, or only a whole parser could tell, all that
follows counts as unsafe: a word too many is refused rather than one too few.

What the command does with its argument is beyond this: ``eval`` and ``sh -c`` run it as a program, and bash's ``let``,
``[[ {x} -eq 1 ]]``, ``test -v {x}`` and ``printf -v {x}`` evaluate it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from flexibo.space.options import Value
from flexibo.studyfile.mistakes import nearest

PREFIX = "FLEXIBO_OPTION_"
STEP_WORDS = ("from_step", "to_step", "checkpoint")
"""Placeholders in the command of an objective with steps, beside its options."""
WORD = re.compile(r"\{([^\W\d][\w.-]*)\}")  # a placeholder; other braces, as in ``awk '{print $1}'``, are the shell's
MOST_WRONG = 20  # how many mistakes are reported for one command
LITERAL = re.compile(r"\{(\{[^\W\d][\w.-]*\})\}")

SINGLE, DOUBLE, BACK = "single quotes", "double quotes", "backquotes"
ARITHMETIC, EXPANSION, HERE = "arithmetic", "${...}", "a here-document"
SUBSCRIPT = "a subscript"
WITHIN = "a substitution within double quotes"
SUBSTITUTION, GROUP = "$(", "("
OPENING = {"'": SINGLE, '"': DOUBLE, "`": BACK}
BREAKS = " \t\n;&|()<>"  # what ends a word; other blanks, such as those of Unicode, are letters to the shell
DELIMITER = re.compile(r"<<(-?)[ \t]*((?:\\.|'[^'\n]*'|\"[^\"\n]*\"|[^ \t\n;&|()<>])+)")
INDEXED = re.compile(r"(?:^|[\s;&|()])[A-Za-z_]\w*\[[^\]\s]*$")


@dataclass(frozen=True, slots=True)
class Template:
    """A command with placeholders."""

    text: str  # the command as it was written
    pieces: tuple[str, ...]  # its parts, with an option's value between any two of them
    options: tuple[str, ...]  # whose values stand between the pieces

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
    """A command as a template, and its mistakes; ``{{word}}`` stands for the text ``{word}``."""
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
            for_steps = "; it is for objectives with steps, as in steps: 27." if name in STEP_WORDS else ""
            hint = for_steps or nearest(name, options)
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
    reader = _Reader(text)
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


@dataclass(slots=True)
class _Reader:
    """Reads the text of a script up to a place, and tracks the context there."""

    text: str
    place: int = 0
    _open: list[str] = field(default_factory=list)
    _depths: list[int] = field(default_factory=list)
    _documents: list[tuple[str, bool, bool]] = field(default_factory=list)
    _unclear: str = ""
    _begins_word: bool = True

    @property
    def around(self) -> str:
        """Why a value must not be inserted here; empty where it may be."""
        if self._unclear:
            return self._unclear
        is_nested = False
        for one in reversed(self._open):
            if one not in (SUBSTITUTION, GROUP):
                return WITHIN if one == DOUBLE and is_nested else one
            is_nested = True
        line = self.text[self.text.rfind("\n", 0, self.place) + 1 : self.place]
        return SUBSCRIPT if INDEXED.search(line[-200:]) else ""

    def skip(self, end: int, *, is_literal: bool = False) -> None:
        """Continue after a placeholder, or after something that only looks like one."""
        if is_literal and EXPANSION in self._open:
            self._unclear = "what follows braces within ${...}"
        self.place, self._begins_word = end, False

    def step(self) -> None:
        character, top = self.text[self.place], self._open[-1] if self._open else GROUP
        if top == HERE:
            self._document()
        elif top == SINGLE:
            self._close_at("'")
        elif character == "\\":
            self._begins_word = self._begins_word and self.text.startswith("\\\n", self.place)
            self.place += 2
        elif top == BACK:
            self._close_at("`")
        elif character == "$":
            self._dollar(top)
        elif top == DOUBLE:
            self._close_at('"')
        elif top == ARITHMETIC:
            self._arithmetic()
        elif top == EXPANSION:
            self._expansion()
        else:
            self._command()

    def _push(self, what: str, length: int) -> None:
        self._open.append(what)
        self._depths.append(0)
        self.place += length
        self._begins_word = what in (SUBSTITUTION, GROUP)

    def _pop(self, length: int = 1) -> None:
        closed = self._open.pop()
        self._depths.pop()
        self.place += length
        self._begins_word = closed == GROUP

    def _close_at(self, sign: str) -> None:
        character = self.text[self.place]
        if character == sign:
            self._pop()
        elif character == "`" and sign == '"':
            self._push(BACK, 1)
        else:
            self.place += 1

    def _dollar(self, top: str) -> None:
        text, place = self.text, self.place
        if text.startswith("$((", place):
            self._push(ARITHMETIC, 3)
        elif text.startswith("$(", place):
            self._push(SUBSTITUTION, 2)
        elif text.startswith("${", place):
            self._push(EXPANSION, 2)
        elif text.startswith("$'", place) and top != ARITHMETIC and DOUBLE not in (top, *self._open[-2:]):
            self._ansi_quotes()
        else:
            if text.startswith("$[", place):
                self._unclear = ARITHMETIC  # for bash; for others it is a text, so its end is not known
            self.place += 2 if text.startswith("$$", place) else 1
            self._begins_word = False

    def _ansi_quotes(self) -> None:
        """Enter ``$'...'``, in which a backslash protects the closing quote in some shells only."""
        end = self.text.find("'", self.place + 2)
        if "\\" in self.text[self.place : end]:
            self._unclear = "or after $'...' with a backslash, which shells read differently"
        self._push(SINGLE, 2)

    def _arithmetic(self) -> None:
        character = self.text[self.place]
        if character in OPENING:
            self._unclear = "or after arithmetic with quotes in it"
        if character == ")" and not self._depths[-1]:
            if self.text.startswith("))", self.place):
                self._pop(2)
                self._begins_word = False
                return
            self._open[-1] = SUBSTITUTION  # it was a group of commands within $(...), misread until here
            self._unclear = "or after $((...), which shells read differently; put a space between the parentheses"
        self._depths[-1] += {"(": 1, ")": -1}.get(character, 0)
        self.place += 1

    def _expansion(self) -> None:
        character = self.text[self.place]
        if character == "}":
            self._pop()
        elif character in OPENING:
            if DOUBLE in self._open:
                self._unclear = "or after quotes in ${...} within double quotes, which shells read differently"
            self._push(OPENING[character], 1)
        else:
            self.place += 1

    def _command(self) -> None:
        text, place, character = self.text, self.place, self.text[self.place]
        if character == "#" and self._begins_word:
            end = text.find("\n", place)
            self.place = len(text) if end < 0 else end
        elif character in OPENING:
            self._push(OPENING[character], 1)
        elif text.startswith("((", place) and self._begins_word:
            self._push(ARITHMETIC, 2)
        elif character == "(":
            self._push(GROUP, 1)
        elif character == ")" and self._open:
            self._pop()
        elif text.startswith("<<", place):
            self._announce()
        elif character == "\n" and self._documents:
            self._push(HERE, 1)
        else:
            if self._begins_word and re.match(r"case[ \t\n]", text[place : place + 5]) and DOUBLE in self._open:
                self._unclear = "or after case in a substitution within double quotes"
            self._begins_word = character in BREAKS
            self.place += 1

    def _announce(self) -> None:
        """Note the end of a here-document, which begins after this line."""
        if self.text.startswith("<<<", self.place):  # bash's here-string: a word follows
            self.place += 3
            return
        match = DELIMITER.match(self.text, self.place)
        word = "" if match is None else match[2]
        plain = re.sub(r"\\(.)|['\"]", r"\1", word)
        if not plain or set(plain) & set("{$`'\"\\"):
            self._unclear = HERE
        self._documents.append((plain, word == plain, match is not None and bool(match[1])))
        self.place += 2

    def _document(self) -> None:
        """Read a character of a here-document, or the line that ends it."""
        end, is_plain, drops_tabs = self._documents[0]
        if self.text[self.place - 1] == "\n" and not (is_plain and self._is_joined()):
            stop = self.text.find("\n", self.place)
            line = self.text[self.place : stop if stop >= 0 else len(self.text)]
            if (line.lstrip("\t") if drops_tabs else line) == end:
                self._documents.pop(0)
                self.place += len(line) + 1
                if not self._documents:
                    self._pop(0)
                    self._begins_word = True
                return
        self.place += 1

    def _is_joined(self) -> bool:
        """Whether the line before this one ends with a backslash, so that this one belongs to it."""
        line = self.text[: self.place - 1] if self.place < 200 else self.text[self.place - 200 : self.place - 1]
        return (len(line) - len(line.rstrip("\\"))) % 2 == 1
