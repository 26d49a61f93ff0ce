"""Questions in a terminal whose answers can be taken back.

A dialogue is a function that asks. When an answer is taken back, the function runs again from its beginning: answers
that were given before are returned without asking, and nothing is printed until the question that is open again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import typer

from flexibo._internal.text import printable_line

Check = Callable[[str], str]  # what is wrong with an answer, or an empty text
T = TypeVar("T")
BACK = "back"
YES, NO = ("y", "yes"), ("n", "no")


class _TakenBack(Exception):  # noqa: N818  # a wish, rather than an error
    """The last answer is to be given again."""


class Dialogue:
    """Asks, remembers the answers, and goes back one question when the answer is ``back``."""

    def __init__(self) -> None:
        self._given: list[str] = []
        self._place = 0

    def held(self, questions: Callable[[], T]) -> T:
        """What the questions lead to."""
        while True:
            self._place = 0
            try:
                return questions()
            except _TakenBack:
                continue

    def say(self, text: str) -> None:
        """Print a line, unless it was printed before."""
        if self._place == len(self._given):
            typer.echo(printable_line(text))

    def show(self, text: str) -> None:
        """Print a text that may have several lines, unless it was printed before."""
        if self._place == len(self._given):
            typer.echo(text)

    def ask(self, question: str, *, default: str = "", empty: bool = False, check: Check = lambda answer: "") -> str:
        """A valid answer; prints what is wrong with invalid ones."""
        if self._place < len(self._given):
            return self._again()
        while True:
            answer: str = typer.prompt(question, default=default, show_default=bool(default)).strip()
            if answer == BACK:
                self._take_back()
                continue
            problem = "" if empty and not answer else check(answer) if answer else "Give an answer."
            if not problem:
                return self._kept(answer)
            self.say(f"  {problem}")

    def confirm(self, question: str, *, default: bool = False) -> bool:
        """Whether the user says yes."""
        shown = f"{question} [{'Y/n' if default else 'y/N'}]"
        answer = self.ask(shown, empty=True, check=_no_answer).lower()
        return answer in YES if answer else default

    def _again(self) -> str:
        self._place += 1
        return self._given[self._place - 1]

    def _kept(self, answer: str) -> str:
        self._given.append(answer)
        self._place += 1
        return answer

    def _take_back(self) -> None:
        if not self._given:
            self.say("  This is the first question.")
            return
        before = self._given.pop()
        typer.echo(f"  Back; the answer was {printable_line(repr(before))}.")
        raise _TakenBack


def _no_answer(answer: str) -> str:
    return "" if answer.lower() in (*YES, *NO) else f"The answer is {answer!r}; give y or n."
