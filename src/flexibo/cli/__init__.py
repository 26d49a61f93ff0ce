"""The command line."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

import flexibo
from flexibo.cli import _exit_status
from flexibo.cli._help import HelpfulCommand, HelpfulGroup
from flexibo.cli.commands import COMMANDS, MACHINE
from flexibo.cli.knobs import knobs

app = typer.Typer(
    name="flexibo",
    cls=HelpfulGroup,
    help="Choose which design and which single objective to measure next.",
    epilog="Exit status: " + ". ".join(f"{status:d} is {text}" for status, text in _exit_status.MEANINGS.items()) + ".",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
for command in COMMANDS:
    app.command(
        command.name,
        cls=HelpfulCommand,
        short_help=command.summary,
        epilog=command.epilog,
        rich_help_panel=command.panel,
        context_settings={"ignore_unknown_options": command.free},
    )(command.function)
app.add_typer(knobs, name="knobs", rich_help_panel=MACHINE, short_help="List, hold and restore machine settings.")


def main() -> NoReturn:
    """Run the command line and leave with one of the statuses that `flexibo.cli._exit_status` explains."""
    _exit_status.run(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"flexibo {flexibo.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Multi-objective optimisation under a budget, one objective of one design at a time."""
