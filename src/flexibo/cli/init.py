"""``flexibo init``: writes a study file to start with."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown

from flexibo._internal.text import printable_line
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._files import check_free, write_whole
from flexibo.cli._text import typed_command
from flexibo.errors import InvalidValueError

SUFFIXES = (".yaml", ".yml")


def init(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER|FILE",
            help="A folder, or the name of the study file. By default study.yaml.",
            show_default=False,
        ),
    ] = Path(),
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing; write an example that can be run at once.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    reference: Annotated[
        bool, typer.Option("--reference", help="Print the page that explains every key of a study file, and exit.")
    ] = False,
) -> None:
    """Write a study file: in a terminal from your answers, with --yes or without a terminal an example.

    The example explains every line and comes with the small program that it tunes; flexibo run study.yaml runs it in
    about a minute. --reference explains every key of a study file.
    """
    if reference:
        _print_reference()
        return
    path = target if target.suffix.lower() in SUFFIXES else target / "study.yaml"
    asks = not yes and is_terminal()
    _check_folder(path)
    if asks:
        from flexibo.cli._wizard import study_of_answers

        if path.parent.is_dir():
            check_free(path, force=force)
        text = study_of_answers(path)
        if text is None:
            typer.echo("Nothing was written.")
            raise typer.Exit(ExitStatus.NOTHING)
        contents = {path: text}
    else:
        contents = _example(path)
        if not yes:
            typer.echo("This is not a terminal, so no questions are asked; writing the example (--yes).")
    _write(contents, force=force)
    for written in contents:
        typer.echo(printable_line(f"Wrote {written}."))
    typer.echo(f"Look at it:  {typed_command(['flexibo', 'run', str(path)], {'--dry-run': True})}")
    typer.echo(f"Try it:      {typed_command(['flexibo', 'run', str(path)], {'--try': True})}")
    typer.echo(f"Run it:      {typed_command(['flexibo', 'run', str(path)], {})}")


def _print_reference() -> None:
    """The page on study files: formatted in a terminal, unchanged for other programs."""
    from flexibo.studyfile.example import reference_page

    if not sys.stdout.isatty():
        typer.echo(reference_page(), nl=False)
        return
    Console().print(Markdown(reference_page(), hyperlinks=False))


def is_terminal() -> bool:
    """Whether questions can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _check_folder(path: Path) -> None:
    folder = path.absolute().parent
    if folder.exists() and not folder.is_dir():
        raise InvalidValueError(f"{folder} is not a folder; give a folder, or a file such as study.yaml.")


def _example(path: Path) -> dict[Path, str]:
    """The example's files, the study file under the name that was given."""
    from flexibo.studyfile.example import STUDY, example_files

    return {
        path if name == STUDY else path.with_name(name): text.replace(STUDY, path.name)
        for name, text in example_files().items()
    }


def _write(contents: Mapping[Path, str], *, force: bool) -> None:
    """Write all files, or none if one of them exists."""
    for path in contents:
        if path.absolute().parent.is_dir():
            check_free(path, force=force)
    for path, text in contents.items():
        try:
            path.absolute().parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidValueError(f"{path.parent} cannot be made: {error.strerror or error}.") from None
        write_whole(path, [text], force=force)
