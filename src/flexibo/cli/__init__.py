"""The command line."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import flexibo
from flexibo.cli.compare import compare
from flexibo.cli.data import data
from flexibo.cli.demo import demo
from flexibo.cli.export import export
from flexibo.cli.importing import import_study
from flexibo.cli.knobs import knobs
from flexibo.cli.methods import methods
from flexibo.cli.problems import problems
from flexibo.cli.record import record
from flexibo.cli.reproduce import reproduce
from flexibo.cli.resume import resume
from flexibo.cli.run import run
from flexibo.cli.status import status
from flexibo.cli.studies import list_studies
from flexibo.cli.systems import systems
from flexibo.cli.worker import worker
from flexibo.errors import FlexiBOError
from flexibo.words import harmless

app = typer.Typer(
    name="flexibo",
    help="Choose which design and which single objective to measure next.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(run)
app.command()(resume)
app.command()(worker)
app.command("list")(list_studies)
app.command()(status)
app.command()(export)
app.command("import")(import_study)
for command in (systems, record, methods, compare, problems, data, reproduce):
    app.command()(command)
app.add_typer(knobs, name="knobs")


def main() -> None:
    """Run the command line; a mistake of the user is one sentence on standard error and exit status 2."""
    try:
        app()
    except FlexiBOError as error:
        typer.echo(f"flexibo: {harmless(str(error))}", err=True)
        sys.exit(2)


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
