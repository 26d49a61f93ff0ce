"""The help of commands: paragraphs that fill their lines, and flags without a type."""

from __future__ import annotations

import inspect
from typing import Any

from typer.core import TyperCommand, TyperGroup

AS_IT_IS = "\b"
"""A paragraph that begins with this keeps its lines."""


class HelpfulCommand(TyperCommand):
    """A command whose help is laid out by `filled` and `without_types`."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **{**settings, "help": filled(settings.get("help") or "")})

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, as the help shows them."""
        return without_types(super().get_params(ctx))


class HelpfulGroup(TyperGroup):
    """A group of commands, the same way."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, as the help shows them."""
        return without_types(super().get_params(ctx))


def filled(text: str) -> str:
    r"""A text whose paragraphs are one line each, for the terminal to break.

    >>> filled("First.\n\n    Second line\n    goes on.\n\n    \b\n    As it\n    is.")
    'First.\n\nSecond line goes on.\n\n\x08\nAs it\nis.'
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(part if part.startswith(AS_IT_IS) else part.replace("\n", " ") for part in paragraphs)


def without_types(parameters: list[Any]) -> list[Any]:
    """The parameters, where flags, which take no value, show no type."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters
