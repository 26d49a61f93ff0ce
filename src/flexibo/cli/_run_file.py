"""Studies from study files: told from systems, found for a stored study, run, resumed, or only shown."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import typer

from flexibo._internal.numbers import format_budget, format_spent
from flexibo._internal.text import printable, printable_line
from flexibo.cli._advice import NOTHING, StudyPlace
from flexibo.cli._detail import Detail, Tries
from flexibo.cli._dry_run import show_plan
from flexibo.cli._edited_file import ask_to_change, bring_known, open_as_edited
from flexibo.cli._help import TypeAgainError
from flexibo.cli._measure import (
    MANUAL_IDLE_SECONDS,
    Confirming,
    add_stop_rules,
    chosen_executor,
    leading_objectives,
    measure,
    opening_budget,
    say_limit,
    set_budget,
    stored_limit,
)
from flexibo.cli._options import ExecutionOptions, StudyOptions, SystemOptions
from flexibo.cli._outcome import PictureFile, Report, picture_beside, report, resume_command, typed_picture
from flexibo.cli._storage import short_path, storage_url, stored_origin
from flexibo.cli._system_file import chosen_storage, with_system
from flexibo.cli._text import count_of_designs, counted
from flexibo.cli._trial import Trial, report_trial
from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.history.events import Noted
from flexibo.history.measurements import QueuedDesign
from flexibo.study import Study
from flexibo.study.stored import stored_study
from flexibo.studyfile import (
    ExecutorChoice,
    StudyFile,
    StudyFileError,
    SystemFile,
    file_stem,
    has_changed,
    is_from_file,
    read_any_file,
    stored_file,
)
from flexibo.studyfile.file import dependence_hints
from flexibo.studyfile.file_origin import UnnamedFileError
from flexibo.systems.catalogue import SYSTEMS
from flexibo.systems.recorded import recordings

SUFFIXES = (".yaml", ".yml")
NO_OPTIONS = SystemOptions()
HERE = ("inline", "processes")  # the executors that measure on this machine


def is_study_file(what: str) -> bool:
    """Whether the argument of ``flexibo run`` names a file; the name of a system never does.

    >>> is_study_file("study.yaml"), is_study_file("lenet")
    (True, False)
    """
    if what in SYSTEMS:
        return False
    path = Path(what)
    return path.suffix.lower() in SUFFIXES or len(path.parts) > 1 or path.is_file()


def check_is_system(name: str) -> None:
    """Refuse what is neither the name of a system nor an existing file."""
    if name in SYSTEMS:
        return
    if name in recordings():
        raise InvalidValueError(f"{name!r} is a recorded table; add --recorded to replay it.")
    files = sorted(path.name for path in Path().glob("*") if path.suffix in SUFFIXES)
    names = [*SYSTEMS, *files, *(Path(file).stem for file in files)]
    near = next(iter(difflib.get_close_matches(name.lower(), names, n=1)), "")
    near = next((file for file in files if Path(file).stem == near), near)
    hint = f"; did you mean {near!r}?" if near else "."
    here = f"Study files here: {', '.join(files[:5])}." if files else "No study file is here; flexibo init writes one."
    raise UnknownNameError(f"{name!r} is neither a study file nor a system{hint} Systems: {', '.join(SYSTEMS)}. {here}")


def join_study(
    given: StudyOptions,
    file: Path | None,
    options: SystemOptions = NO_OPTIONS,
    only: Collection[str] = (),
) -> tuple[Study, StudyFile, str] | None:
    """The stored study, the file that the user names or that it was created from, and its URL; None without a file.

    If the file names a system, that is built with these options, to measure only these objectives.
    """
    lease, checkpoints = given.lease_seconds, given.checkpoints
    if file is not None:
        read = read_any_file(file)
        url, name = chosen_storage(read, given), given.name or read.name
    else:
        url = storage_url(given.storage)
        name = stored_study(url, given.name or None)[1]
        origin = stored_origin(url, name)
        if not is_from_file(origin):
            return None
        try:
            read = stored_file(origin, name)
        except StudyFileError as error:
            if origin.get("system") and (origin.get("recorded") or options.data is not None):
                return None  # the study says what it is made of, except for the folder of the data
            if isinstance(error, UnnamedFileError):
                raise TypeAgainError(error.problem, "--file", short_path(error.path)) from None
            raise
    here = replace(given, storage=url, is_storage_typed=True, name=name)
    found = with_system(read, options, here, only, resumes=True) if isinstance(read, SystemFile) else read
    study = found.joined(url, name, lease=lease, checkpoints=checkpoints)
    return study, found.measuring_for(url), url


def note_change(study: Study, file: StudyFile) -> str:
    """Note once in the study that its file has changed, and return a message; empty if it has not."""
    if not has_changed(file, study.history.origin):
        return ""
    text = f"{file.path.name} has changed since the study was begun (its SHA-256 is now {file.source.digest[:12]})."
    if not any(isinstance(event, Noted) and event.text == text for event in study.events):
        study.note(text)
    return f"{text} Its options and objectives are the same; the study has a note of it."


def note_folder(file: StudyFile, url: str) -> str:
    """Whose commands are run and where, if a study lies in another folder than its file; empty if it does not."""
    database = file.other_database(url)
    if database is None or not file.measures or file.system is not None:
        return ""
    folder, copy = file.path.parent, database.with_name(file.path.name)
    if database.parent.resolve() == folder.resolve():
        return ""
    own = f"; to run those of its copy, give --file {shlex.quote(str(short_path(copy)))}" if copy.is_file() else ""
    where = f"The database is in {database.parent}, the commands and functions are those of {file.path}"
    return printable_line(f"{where} and run in {folder}{own}.")


def run_file(
    path: Path,
    file: StudyFile,
    given: StudyOptions,
    execution: ExecutionOptions,
    *,
    out: Path | None,
    json: bool,
    dry_run: bool,
    detail: Detail = Detail.USUAL,
    tries: Tries = Tries.FIRST,
    yes: bool = False,
    system: Mapping[str, object] = NOTHING,
) -> None:
    """Run the study of a file, whose `system` was given these options, or only show it; the path is as it was typed."""
    url, name = chosen_storage(file, given), given.name or file.name
    executor, settings = chosen_executor(execution, file.executor), _study_settings(file, given)
    if dry_run:
        show_plan(file, url, settings, executor, json=json, tries=tries)
        return
    quiet = json or detail is Detail.QUIET
    file = ready_here(file, execution, executor, quiet=quiet)
    picture = typed_picture(out) or _picture(file, name, url)
    if given.budget_seconds is not None:
        settings["budget"] = opening_budget(url, name, given.budget_seconds)
    before = stored_limit(url, name) if given.max_evaluations is not None else None
    agree = partial(ask_to_change, file, yes=yes, quiet=json)
    study = open_as_edited(file, {**settings, "storage": url}, agree=agree)
    file.check_same_meters(study.history.origin)
    bring_known(study, file, quiet=quiet)
    say_limit(before, given.max_evaluations, len(study.history.asked), quiet=quiet)
    set_budget(study, given, quiet=quiet)
    place = StudyPlace(given.storage if given.is_storage_typed else "", given.name)
    again = {**_typed_again(given, execution), **system}

    def command(options: Mapping[str, object]) -> str:
        return place.command("run", str(path), options=options)

    about = Report.before(
        study, url, command, again, picture, manual=file.by_hand, json=json, detail=detail, tries=tries
    )
    _measure_and_report(study, file.measuring_for(url), execution, executor, about)


def resume_file(
    joined: tuple[Study, StudyFile, str],
    given: StudyOptions,
    execution: ExecutionOptions,
    *,
    named: Path | None,
    json: bool,
    detail: Detail = Detail.USUAL,
    tries: Tries = Tries.FIRST,
    confirming: Confirming | None = None,
) -> None:
    """Resume the stored study of a file, which the user may have named, or only confirm its promising designs."""
    study, file, url = joined
    quiet = json or detail is Detail.QUIET
    executor = chosen_executor(execution, file.executor)
    if confirming is not None:
        study.check_confirm(**asdict(confirming), runs=bool(_measured_here(study, file, execution)))
    if named is None and (elsewhere := note_folder(file, url)):
        typer.echo(elsewhere, err=True)
    file = ready_here(file, execution, executor, quiet=quiet)
    file.check_same_meters(study.history.origin)
    set_budget(study, given, quiet=quiet)
    add_stop_rules(study, given, quiet=quiet)
    again = {**_rules_again(given), **_execution_again(execution), "--file": named}
    picture, command = _picture(file, study.name, url), partial(resume_command, url, study.name)
    about = Report.before(
        study,
        url,
        command,
        again,
        picture,
        manual=file.by_hand,
        json=json,
        detail=detail,
        tries=tries if confirming is None else Tries.NO,
        confirming=confirming,
    )
    _measure_and_report(study, file, execution, executor, about, confirming)


def ready_here(file: StudyFile, execution: ExecutionOptions, executor: ExecutorChoice, *, quiet: bool) -> StudyFile:
    """The file, after a check of the meters and settings that what is measured here needs."""
    file.check_executor(executor)
    if executor.name not in HERE:
        return file  # the machines that measure have meters and settings of their own
    leads = {objective.name: objective.measured_with or objective.name for objective in file.objectives}
    file, restored = file.on_this_machine({leads.get(name, name) for name in execution.only or leads})
    if restored and not quiet:
        typer.echo(f"Restored {counted(restored, 'setting')} of the machine that a killed session had left.")
    return file


def _measured_here(study: Study, file: StudyFile, execution: ExecutionOptions) -> list[str]:
    """The objectives that a command or a function measures here."""
    return [name for name in leading_objectives(study.history, execution.only) if name in file.measures]


def _measure_and_report(
    study: Study,
    file: StudyFile,
    execution: ExecutionOptions,
    executor: ExecutorChoice,
    about: Report,
    confirming: Confirming | None = None,
) -> None:
    """Measure what the file has functions and commands for, and report; a file may leave everything to people."""
    if (change := note_change(study, file)) and not about.is_quiet:
        typer.echo(printable(change))
    if not about.is_quiet:
        _introduce(study, file)
    objectives = _measured_here(study, file, execution)
    idle = execution.idle_seconds
    if file.by_hand and len(objectives) == len(file.measures) and idle is None:
        idle = MANUAL_IDLE_SECONDS
    queued: tuple[QueuedDesign, ...] = ()
    trial = Trial(study, about)
    if objectives:
        queued = measure(
            study,
            file.measures,
            objectives,
            executor,
            StudyPlace(about.url, study.name, study.history.origin),
            idle=idle,
            manual=file.by_hand,
            confirming=confirming,
            detail=Detail.QUIET if about.json else about.detail,
            first=trial if trial.is_wanted else None,
        )
    else:
        if confirming is not None:
            queued = study.confirm(**asdict(confirming))
        study.close()
    if trial.ends_run:
        report_trial(study, trial)
    report(study, about, ran=bool(objectives), queued=queued, tried=trial.facts())


def _picture(file: StudyFile, study: str, url: str) -> PictureFile:
    return picture_beside(file.path.with_name(f"{file_stem(study)}.png"), file.other_database(url))


def _study_settings(file: StudyFile, given: StudyOptions) -> dict[str, Any]:
    settings = {
        "budget": given.budget_seconds,
        "method": given.method or None,
        "seed": given.seed,
        "name": given.name or None,
        "lease": given.lease_seconds,
        "stop": {**(file.settings.get("stop") or {}), **given.stop_rules} if given.stop_rules else None,
    }
    return {key: value for key, value in settings.items() if value is not None}


def _typed_again(given: StudyOptions, execution: ExecutionOptions) -> dict[str, object]:
    """The options that must be typed again to resume, besides those that name the study."""
    return {
        "--budget": given.budget,
        **_rules_again(given),
        "--method": given.method,
        "--seed": None if given.seed is None else str(given.seed),
        **_execution_again(execution),
    }


def _rules_again(given: StudyOptions) -> dict[str, object]:
    return {"--certified-error": given.certified_error, "--max-evaluations": given.max_evaluations}


def _execution_again(execution: ExecutionOptions) -> dict[str, object]:
    return {f"--{name}": value for name, value in asdict(execution).items()}


def _introduce(study: Study, file: StudyFile) -> None:
    """Print what is run and how far it is; before the first measurement, also how it could cost less."""
    measurements, unit = study.history.measurements, study.history.cost_unit
    known = sum(one.number is None for one in measurements)
    done = len(measurements) - known
    limit = "no budget" if study.budget is None else f"budget {format_budget(study.budget, unit)}"
    lines = [
        f"{study.name} ({file.path.name}): {counted(len(study.space.names), 'option')}, "
        f"{count_of_designs(study.space.size)} designs; objectives {', '.join(study.history.names)}; {limit}."
    ]
    if done or study.spent:
        spent = format_spent(study.spent, None, unit)
        more = f" and {counted(known, 'known result')}" if known else ""
        lines.append(f"Resuming after {counted(done, 'measurement')}{more}, with {spent} spent.")
    elif known:
        lines.append(f"Beginning with {counted(known, 'known result')}; nothing was measured here yet.")
    if file.system is not None:
        lines += file.system.notes
    if not measurements:
        lines += [f"Advice: {sentence}" for sentence in dependence_hints(file)]
    for line in lines:
        typer.echo(printable_line(line))
