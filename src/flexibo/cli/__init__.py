"""The command line.

Nothing else in flexibo imports this package. `commands.py` is the table of commands; each command is the module of its
name and is imported when it is used. Those modules import at their top what is cheap, and what needs numpy, scipy or
SQLAlchemy inside functions, so that help and completion stay fast.
"""

from __future__ import annotations

import os
from typing import Annotated, NoReturn

import typer

import flexibo
from flexibo.cli._exit_status import MEANINGS, exit_with_status
from flexibo.cli._help import LazyGroup
from flexibo.cli._logs import VARIABLE, log_as_json_lines
from flexibo.errors import InvalidValueError

app = typer.Typer(
    name="flexibo",
    cls=LazyGroup,
    help="Choose which design and which single objective to measure next.",
    epilog="Exit status: " + "; ".join(f"{status:d} {text}" for status, text in MEANINGS.items()) + ".",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def main() -> NoReturn:
    """Run the command line and exit with one of the statuses of `flexibo.cli._exit_status`."""
    exit_with_status(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"flexibo {flexibo.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    log_json: Annotated[
        bool,
        typer.Option(
            "--log-json", help="Log to standard error, one JSON object per line.", envvar=VARIABLE, show_envvar=True
        ),
    ] = False,
) -> None:
    """Multi-objective optimisation under a budget, one objective of one design at a time."""
    if log_json:
        log_as_json_lines()
    try:
        os.getcwd()
    except FileNotFoundError:
        raise InvalidValueError("The working folder was removed; change to one that exists, as in: cd ~") from None
