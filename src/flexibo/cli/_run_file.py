"""Studies from study files: run, resumed, or only shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from flexibo._internal.text import printable, printable_line
from flexibo.cli._budget import opening_budget, set_budget, set_stop_rules
from flexibo.cli._dry_run import show_plan
from flexibo.cli._measure import MANUAL_IDLE_SECONDS, ExecutorSettings, leading_objectives, measure
from flexibo.cli._options import ExecutionOptions, StudyOptions
from flexibo.cli._outcome import Report, count_attempts, larger_budget, report, resume_command
from flexibo.cli._parse import parsed_seconds
from flexibo.cli._picture import picture_beside, typed_picture
from flexibo.cli._study_file import JoinedStudy, chosen_storage, note_change
from flexibo.cli._text import count_of_designs, typed_command
from flexibo.errors import SettingsDifferError
from flexibo.executors import EXECUTORS
from flexibo.storage import shown_url
from flexibo.study import Study
from flexibo.studyfile import StudyFile, read_study_file
from flexibo.studyfile.hints import dependence_hints


def run_file(
    path: Path, given: StudyOptions, execution: ExecutionOptions, *, out: Path | None, json: bool, dry_run: bool
) -> None:
    """Run the study of a file, or only show what would be run."""
    file = read_study_file(path)
    url, name = chosen_storage(file, given), given.name or file.name
    executor, settings = _executor_settings(file, execution), _study_settings(file, given)
    if dry_run:
        show_plan(file, url, settings, executor, json=json)
        return
    picture = typed_picture(out) or picture_beside(file, name)
    budget = given.budget_seconds
    if budget is not None:
        settings["budget"] = opening_budget(url, name, budget)
    study = _open_study(file, {**settings, "storage": url})
    if budget is not None:
        set_budget(study, budget, quiet=json)
    words, options = ["flexibo", "run", str(path)], _typed_again(given, execution)
    about = Report(
        url,
        typed_command(words, options),
        typed_command(words, {**options, "--budget": larger_budget(study.budget)}),
        picture,
        count_attempts(study),
        manual=file.by_hand,
        json=json,
    )
    _measure_and_report(study, file, execution, executor, about)


def resume_file(
    joined: JoinedStudy, given: StudyOptions, execution: ExecutionOptions, *, file: Path | None, json: bool
) -> None:
    """Resume the stored study of a file.

    Args:
        joined: The study and its file.
        given: What was typed about the study.
        execution: What was typed about measuring.
        file: The file that the user named, if any.
        json: Print the outcome as JSON.
    """
    study, url = joined.study, joined.url
    if given.budget_seconds is not None:
        set_budget(study, given.budget_seconds, quiet=json)
    set_stop_rules(study, given.stop_rules)
    again = {"--certified-error": given.certified_error, **_execution_again(execution), "--file": file}
    about = Report(
        url,
        resume_command(url, study.name, again),
        resume_command(url, study.name, {**again, "--budget": larger_budget(study.budget)}),
        picture_beside(joined.file, study.name),
        count_attempts(study),
        manual=joined.file.by_hand,
        json=json,
    )
    _measure_and_report(study, joined.file, execution, _executor_settings(joined.file, execution), about)


def _measure_and_report(
    study: Study, file: StudyFile, execution: ExecutionOptions, executor: ExecutorSettings, about: Report
) -> None:
    """Measure what the file has functions and commands for, and report; a file may leave everything to people."""
    if (change := note_change(study, file)) and not about.json:
        typer.echo(printable(change))
    if not about.json:
        _introduce(study, file)
    objectives = [name for name in leading_objectives(study.history, execution.only) if name in file.measures]
    if file.by_hand and len(objectives) == len(file.measures) and executor.idle is None:
        executor = replace(executor, idle=MANUAL_IDLE_SECONDS)
    if objectives:
        measure(study, file.measures, objectives, executor, manual=file.by_hand, quiet=about.json)
    else:
        study.close()
    report(study, about, ran=bool(objectives))


def _study_settings(file: StudyFile, given: StudyOptions) -> dict[str, Any]:
    """The arguments of a study that were typed."""
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
    """The options that must be typed again to resume."""
    storage = given.storage if given.is_storage_typed else ""
    return {
        "--budget": given.budget,
        "--certified-error": given.certified_error,
        "--method": given.method,
        "--seed": None if given.seed is None else str(given.seed),
        "--storage": shown_url(storage) if storage else "",
        "--name": given.name,
        **_execution_again(execution),
    }


def _execution_again(execution: ExecutionOptions) -> dict[str, object]:
    return {
        "--only": list(execution.only),
        "--executor": execution.executor,
        "--workers": execution.workers,
        "--address": execution.address,
        "--idle": execution.idle,
    }


def _open_study(file: StudyFile, settings: Mapping[str, Any]) -> Study:
    """The study of a file; if another one is stored, the error says what to change in the file."""
    try:
        return file.study(**settings)
    except SettingsDifferError as error:
        advice = f"Restore {file.path.name}, or start another study with --name or the key name."
        raise SettingsDifferError(error.difference, advice) from None


def _executor_settings(file: StudyFile, given: ExecutionOptions) -> ExecutorSettings:
    """Where evaluations are measured: as typed, else as in the file, as far as the executor accepts it."""
    mine = file.executor
    name = given.executor or mine.name
    takes = EXECUTORS[name].takes if name in EXECUTORS else ()
    return ExecutorSettings(
        name,
        given.workers or (mine.workers if "n" in takes else None),
        given.address or (mine.address if "address" in takes else ""),
        parsed_seconds(given.idle) if given.idle else None,
        slots=dict(mine.slots) if "slots" in takes else {},
        resources=dict(mine.resources) if "resources" in takes else {},
        patience=mine.patience if "patience" in takes else None,
    )


def _introduce(study: Study, file: StudyFile) -> None:
    """Print what is run and how far it is; before the first measurement, also how it could cost less."""
    count, done = len(study.space.names), len(study.history.measurements)
    limit = "no budget" if study.budget is None else f"budget {study.budget:g} s"
    lines = [
        f"{study.name} ({file.path.name}): {count} option{'s' * (count != 1)}, {count_of_designs(study.space.size)} "
        f"designs; objectives {', '.join(study.history.names)}; {limit}."
    ]
    if done:
        lines.append(f"Resuming after {done} measurement{'s' * (done != 1)}, with {study.spent:.4g} s spent.")
    else:
        lines += [f"Advice: {sentence}" for sentence in dependence_hints(file)]
    for line in lines:
        typer.echo(printable_line(line))
