"""Study files that were edited: what changed is shown, asked for, and stored before the study goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from flexibo._internal.text import printable, printable_line
from flexibo.cli._storage import is_stored
from flexibo.cli._text import counted
from flexibo.cli.init import is_terminal
from flexibo.errors import InvalidTypeError, InvalidValueError, SettingsDifferError
from flexibo.storage import MemoryStorage
from flexibo.study import Study
from flexibo.study.changes import Changes
from flexibo.studyfile import StudyFile, cause, has_changed

SHOWN_CHANGES = 3


def open_as_edited(file: StudyFile, settings: Mapping[str, Any], *, agree: Callable[[Changes], None]) -> Study:
    """The study of a file, new, resumed, or changed as the file was; `settings` replace those of the file.

    `agree` is called with what changes, before it does; it raises an error if nothing shall change.
    """
    storage, name = settings.get("storage", file.storage), settings.get("name", file.name)
    if isinstance(storage, str) and not is_stored(storage, name):
        check_new(file, settings)
        return file.study(**settings)
    opening = {**settings, "budget": None}  # the stored one, until it is agreed on another
    study, differs = None, None
    try:
        study = file.study(**opening)
    except SettingsDifferError as error:
        differs = error
    if study is not None and not has_changed(file, study.history.origin):
        _raise_budget(study, settings.get("budget", file.settings.get("budget")))
        return study
    if study is not None:
        study.close()
    stored = file.stored(**settings)  # with its own units and timeouts
    request = file.change_request(stored, settings)
    changes = stored.grant(request, dry_run=True)
    if changes:
        agree(changes)
        stored.grant(request, expected=changes)
    stored.close()
    if study is not None and not changes:
        return study
    try:
        return file.study(**opening)
    except SettingsDifferError as error:  # such as another seed, which cannot be changed
        advice = f"Restore {file.path.name}, or start another study with --name or the key name."
        raise SettingsDifferError((differs or error).difference, advice) from None


def check_new(file: StudyFile, settings: Mapping[str, Any]) -> None:
    """Raise what is wrong with the settings or the known results of a new study, before anything of it is stored."""

    def in_memory(given: Mapping[str, Any]) -> Study:
        rehearsed = {**settings, "storage": MemoryStorage(), "callbacks": ()}
        return replace(file, settings=given).study(**rehearsed)

    try:
        study = in_memory(file.settings)
    except (InvalidValueError, InvalidTypeError) as error:
        key = cause(in_memory, file.settings)
        if not key or key in str(error):
            raise
        raise InvalidValueError(f"In {key} of {file.path.name}: {error}") from None
    bring_known(study, file, quiet=True)


def _raise_budget(study: Study, budget: float | None) -> None:
    """Give a study the budget of its file, unless it was raised beyond that since."""
    if budget is not None and (study.budget is None or study.budget < budget):
        study.budget = budget


def bring_known(study: Study, file: StudyFile, *, quiet: bool) -> None:
    """Add the results that the file knows of, before the first question, or when the file was edited."""
    if not file.known or (study.history.asked and not has_changed(file, study.history.origin)):
        return
    from flexibo.transfer import learn_from

    for source in file.known:
        found = learn_from(study, source.place, source.study or None)
        if found.results and not quiet:
            where = printable_line(f"study {source.study!r}" if source.study else Path(source.place).name)
            typer.echo(f"{counted(len(found.results), 'known result')} of {where} are added; they cost nothing here.")


def ask_to_change(file: StudyFile, changes: Changes, *, yes: bool, quiet: bool) -> None:
    """Show what changes and ask whether it shall; an error if it shall not, or nobody can be asked.

    Nobody is asked if `yes`, or if all changes are minor. If it is `quiet`, nothing is
    printed and nobody is asked.
    """
    if all(row.minor for row in changes.rows):
        return
    name = printable_line(file.path.name)
    if not yes and (quiet or not is_terminal()):
        lines = [printable_line(row.line) for row in changes.rows]
        more = f"; and {len(lines) - SHOWN_CHANGES} more" if len(lines) > SHOWN_CHANGES else ""
        raise InvalidValueError(
            f"{name} differs from the stored study ({'; '.join(lines[:SHOWN_CHANGES])}{more}); add --yes to change the "
            "study. Nothing was changed."
        )
    if not quiet:
        typer.echo(f"{name} differs from the stored study:")
        typer.echo(printable(str(changes)))
    if not yes and not typer.confirm("Change the study? What was measured stays.", default=False):
        raise InvalidValueError(f"The study was not changed; restore {name}, or start another one with --name.")
