"""The mistakes of a study file, each a sentence and its position; they are listed all at once."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field

from flexibo._internal.text import printable_line, shortened, shortened_words
from flexibo.errors import InvalidValueError

MOST_SHOWN = 40  # how many mistakes are listed; a file of another kind has one in every line
MOST_FOUND = 250  # after this many mistakes the file is not read further
LONGEST_SENTENCE = 2000  # a longer one has a value in it that goes on for pages, of which the middle is left out
LONGEST_NAME = 100  # longer names are not compared with others: that takes quadratic time
MOST_COMPARED = 100  # how many known names a name is compared with closely: those that share the most letters with it
MOST_NAMED = 12  # how many known names a message lists; of more it names the nearest three


class StudyFileError(InvalidValueError):
    """A study file that cannot be used; its `mistakes` are in the order of the lines."""

    def __init__(self, message: str, mistakes: tuple[Mistake, ...] = ()) -> None:
        super().__init__(message)
        self.mistakes = mistakes


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A position in a file, counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """What is wrong at a position, in one sentence."""

    place: Position
    sentence: str


@dataclass(slots=True)
class Mistakes:
    """Collects the mistakes of a file."""

    file: str  # what the file is called in messages
    found: list[Mistake] = field(default_factory=list)
    _seen: set[Mistake] = field(default_factory=set)

    def add(self, place: Position, sentence: str) -> None:
        """Note a mistake, the same one at the same place once; raise the `error` if there are too many to continue."""
        mistake = Mistake(place, shortened(shortened_words(printable_line(sentence)), LONGEST_SENTENCE))
        if mistake not in self._seen:
            self._seen.add(mistake)
            self.found.append(mistake)
        if len(self.found) >= MOST_FOUND:
            raise self.error()

    def check(self) -> None:
        """Raise the `error`, if there are mistakes."""
        if self.found:
            raise self.error()

    def error(self) -> StudyFileError:
        """An error that lists all mistakes."""
        ordered = tuple(sorted(self.found))
        many = "a mistake" if len(ordered) == 1 else f"{len(ordered)} mistakes"
        many += " or more" if len(ordered) >= MOST_FOUND else ""
        lines = [
            f"{self.file}:{mistake.place.line}:{mistake.place.column}: {mistake.sentence}"
            for mistake in ordered[:MOST_SHOWN]
        ]
        if len(ordered) > MOST_SHOWN:
            lines.append(f"... and {len(ordered) - MOST_SHOWN} more.")
        return StudyFileError("\n  ".join([f"{self.file} has {many}; nothing was run.", *lines]), ordered)


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, or all of them, or some of many.

    >>> nearest("filers", ["filters", "kernel"]), nearest("x", ["filters", "kernel"])
    ("; did you mean 'filters'?", '; known are filters, kernel.')
    """
    names = list(known)
    by_lower = {other.lower(): other for other in _likely(name, names)}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    if near:
        return f"; did you mean {by_lower[near[0]]!r}?"
    if by_lower and len(names) > MOST_NAMED:
        some = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.0)
        return f"; the nearest are {', '.join(by_lower[one] for one in some)}."
    names = [one if len(one) <= LONGEST_NAME else f"{one[:LONGEST_NAME]}..." for one in names[:MOST_NAMED]]
    return f"; known are {', '.join(names)}." if names else "; there are none."


def _likely(name: str, known: list[str]) -> list[str]:
    """The known names that may be meant; a selection if there are many."""
    if len(name) > LONGEST_NAME:
        return []
    short = [other for other in known if len(other) <= LONGEST_NAME]
    if len(short) <= MOST_COMPARED:
        return short
    letters = set(name.lower())
    return heapq.nlargest(
        MOST_COMPARED, short, key=lambda other: len(letters & set(other.lower())) / (len(name) + len(other))
    )
