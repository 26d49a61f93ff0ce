"""Typer commands for this command line: imported when used, with paragraphs that fill their lines."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from flexibo._internal.text import shortened
from flexibo.cli._storage import shown_words
from flexibo.cli._text import typed_command
from flexibo.cli.commands import COMMANDS, CommandEntry
from flexibo.errors import FlexiBOError, InvalidValueError

PREFORMATTED = "\b"  # a paragraph that begins with this keeps its line breaks
TYPED = "flexibo.typed"  # where a context keeps the words of its command


class TypeAgainError(InvalidValueError):
    """The same command works with another option; the command completes the sentence."""

    def __init__(self, problem: str, option: str, value: object) -> None:
        super().__init__(f"{problem}: {option} {value}")
        self.problem = problem
        self.addition = {option: value}


class HelpfulCommand(TyperCommand):
    """A command with filled paragraphs in its help, flags that show no type, and errors that name options."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **{**settings, "help": filled_paragraphs(settings.get("help") or "")})

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_flag_types(super().get_params(ctx))

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the command with these words; a number that is none is one sentence, as every mistake."""
        typed = list(args)
        try:
            context = super().make_context(info_name, args, parent, **extra)
        except typer.BadParameter as error:
            if sentence := number_mistake(error.message, getattr(error.param, "opts", ()), typed):
                raise InvalidValueError(sentence) from None
            raise
        context.meta[TYPED] = typed
        return context

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error about an argument of Python names the option of the command line."""
        try:
            return super().invoke(ctx)
        except TypeAgainError as error:
            words = ["flexibo", str(ctx.info_name), *shown_words(ctx.meta[TYPED])]
            error.args = (f"{error.problem}: {typed_command(words, error.addition)}",)
            raise
        except FlexiBOError as error:
            options = {parameter.name: parameter.opts[0] for parameter in self.params}
            if option := options.get(error.argument):
                error.args = (naming_option(str(error), error.argument, option),)
            raise


class HelpfulGroup(TyperGroup):
    """A group of commands whose flags show no type."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_flag_types(super().get_params(ctx))


class LazyCommand(TyperCommand):
    """The entry of a command in the help; using it imports the command's module."""

    def __init__(self, entry: CommandEntry) -> None:
        super().__init__(entry.name, short_help=entry.summary, rich_help_panel=entry.panel)
        self._entry = entry

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        return load(self._entry).make_context(info_name, args, parent, **extra)


class LazyGroup(HelpfulGroup):
    """The commands of the table; the help and the completion of their names import none of them."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.commands.update({entry.name: LazyCommand(entry) for entry in COMMANDS})


@cache
def load(entry: CommandEntry) -> Any:
    name = entry.function or entry.name
    found = getattr(import_module(f"flexibo.cli.{name}"), name)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    app = typer.Typer(add_completion=False)
    app.command(
        entry.name,
        cls=HelpfulCommand,
        epilog="\n  ".join((f"{PREFORMATTED}\nExamples:", *entry.examples)) if entry.examples else None,
        context_settings={"ignore_unknown_options": entry.allows_dashes},
    )(found)
    return typer.main.get_command(app)


def naming_option(text: str, argument: str, option: str) -> str:
    """The sentence of an error about an argument, with the option that sets it.

    >>> naming_option("readings is 0; it must be 1 or more.", "readings", "--readings")
    '--readings is 0; it must be 1 or more.'
    >>> naming_option("The budget is too small.", "budget", "--budget")
    'The budget is too small. Set it with --budget.'
    """
    if option in text:
        return text
    rest = text.removeprefix(f"{argument} ")
    return f"{text} Set it with {option}." if rest == text else f"{option} {rest}"


def number_mistake(message: str, options: Sequence[str], typed: Sequence[str]) -> str:
    """The sentence about an option whose value is not a number, or not one in its range; empty for other mistakes.

    >>> number_mistake("Input should be a valid integer, unable to parse", ["--count"], ["--count", "abc"])
    "--count is 'abc'; it must be a whole number."
    >>> number_mistake("Input should be greater than or equal to 1", ["--count"], ["--count=0"])
    "--count is '0'; it must be 1 or more."
    """
    found = re.match(r"Input should be (a valid )?([^,]+)", message)
    values = [word.partition("=")[2] for word in typed if word.partition("=")[0] in options and "=" in word]
    values += [value for option, value in pairwise(typed) if option in options]
    if found is None or not values:
        return ""
    wanted = {"integer": "a whole number", "number": "a number"}.get(found[2], found[2])
    wanted = re.sub("greater than or equal to (.*)", r"\1 or more", wanted)
    wanted = re.sub("less than or equal to (.*)", r"\1 or less", wanted)
    return f"{options[0]} is {shortened(values[-1])!r}; it must be {wanted}."


def filled_paragraphs(text: str) -> str:
    r"""A text whose paragraphs are one line each, for the terminal to break.

    >>> filled_paragraphs("First.\n\n    Second line\n    continues.\n\n    \b\n    As it\n    is.")
    'First.\n\nSecond line continues.\n\n\x08\nAs it\nis.'
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(part if part.startswith(PREFORMATTED) else part.replace("\n", " ") for part in paragraphs)


def _without_flag_types(parameters: list[Any]) -> list[Any]:
    """The parameters; a flag, which takes no value, shows no type."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters
