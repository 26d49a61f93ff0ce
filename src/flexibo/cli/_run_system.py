"""Studies of systems: run, joined by a machine that measures only the error, or resumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from flexibo.cli._advice import StudyPlace
from flexibo.cli._build_system import (
    IN_PRECISION,
    BuiltSystem,
    build_system,
    rebuild_system,
    recorded_table,
    system_request,
)
from flexibo.cli._detail import Detail
from flexibo.cli._measure import (
    Confirming,
    add_stop_rules,
    chosen_executor,
    leading_objectives,
    measure,
    opening_budget,
    set_budget,
)
from flexibo.cli._options import ExecutionOptions, StudyOptions, SystemOptions
from flexibo.cli._outcome import PictureFile, Report, picture_beside, report, resume_command, typed_picture
from flexibo.cli._run_file import check_is_system
from flexibo.cli._storage import is_stored, load_study, storage_url, stored_origin
from flexibo.cli._text import count_of_designs, counted, output_console
from flexibo.errors import InvalidValueError
from flexibo.objectives import Objective
from flexibo.results.chance import CHANCE
from flexibo.storage import shown_url, sqlite_file, stored_studies
from flexibo.study import Study
from flexibo.studyfile import ExecutorChoice, file_stem
from flexibo.studyfile.system_file import DEFAULT_BUDGET_SECONDS
from flexibo.systems.base import System
from flexibo.transfer import study_copy

DEFAULT_LEASE_SECONDS = 60.0


def run_system(
    name: str,
    options: SystemOptions,
    given: StudyOptions,
    execution: ExecutionOptions,
    *,
    out: Path | None,
    json: bool,
    detail: Detail = Detail.USUAL,
) -> None:
    """Run the study of a system, from its recorded table or on this machine."""
    if not options.recorded:
        check_is_system(name)
    quiet = json or detail is Detail.QUIET
    executor, picture = chosen_executor(execution, ExecutorChoice()), typed_picture(out)
    if options.recorded:
        study, built = _open_recorded(name, options, given)
    elif set(execution.only) == {"error_percent"}:
        study, built = _join_study(name, options, given)
        add_stop_rules(study, given, quiet=quiet)
    else:
        budget = given.budget_seconds or DEFAULT_BUDGET_SECONDS
        request = system_request(name, options, execution.only, seed=given.seed or 0, budget=budget)
        built = build_system(request, options.objectives)
        name = _stored_name(built, given)
        if name and not stored_origin(_url(built.system, given), name).get(IN_PRECISION):
            built = build_system(request, options.objectives, as_trained=True)
        study = _open_study(built, given)
    set_budget(study, given, quiet=quiet)
    url = _url(built.system, given)
    again = {"--data": _folder(options, built), "--only": list(execution.only), "--executor": execution.executor}
    command = partial(resume_command, url, given.name)
    chosen = picture or _default_picture(built, study.name, url)
    about = Report.before(study, url, command, again, chosen, json=json, detail=detail)
    _measure_and_report(study, built.system, execution, executor, about)


def resume_system(
    options: SystemOptions,
    given: StudyOptions,
    execution: ExecutionOptions,
    *,
    json: bool,
    detail: Detail = Detail.USUAL,
    confirming: Confirming | None = None,
) -> None:
    """Resume the stored study of a system, or only confirm its promising designs."""
    executor, url = chosen_executor(execution, ExecutorChoice()), storage_url(given.storage)
    study = load_study(url, given.name, lease=given.lease_seconds or DEFAULT_LEASE_SECONDS)
    if not study.history.origin.get("system"):
        raise InvalidValueError(
            f"Study {study.name!r} was made by a program, which has its functions; continue there, with "
            f"Study.load({shown_url(url)!r}, {study.name!r}).run({{...}}), or name its functions: "
            f"{StudyPlace.typed(given.storage, given.name).command('worker', '--functions', 'MODULE:NAME')}"
        )
    only = leading_objectives(study.history, execution.only) if execution.only else ()
    if confirming is not None:
        study.check_confirm(**asdict(confirming))
    built = rebuild_system(study, options, only, budget=given.budget_seconds or study.budget)
    quiet = json or detail is Detail.QUIET
    set_budget(study, given, quiet=quiet)
    add_stop_rules(study, given, quiet=quiet)
    again = {"--data": _folder(options, built), "--only": list(execution.only)}
    command = partial(resume_command, url, given.name)
    picture = _default_picture(built, study.name, url)
    about = Report.before(study, url, command, again, picture, json=json, detail=detail, confirming=confirming)
    _measure_and_report(study, built.system, execution, executor, about, confirming)


def _folder(options: SystemOptions, built: BuiltSystem) -> Path | None:
    """The folder with the training data, which FLEXIBO_DATA may have named; a recorded table needs none."""
    return None if built.origin.get("recorded") else options.data


def _open_study(built: BuiltSystem, given: StudyOptions) -> Study:
    """The study of a system, new or stored; a typed budget is set afterwards."""
    system, budget, url = built.system, given.budget_seconds, _url(built.system, given)
    name = given.name or _stored_name(built, given) or _own_name(system)
    objectives = _as_begun(system.objectives, url, name) if is_stored(url, name) else system.objectives
    return Study(
        system.space,
        objectives,
        method=given.method or "flexibo",
        budget=DEFAULT_BUDGET_SECONDS if budget is None else opening_budget(url, name, budget),
        seed=given.seed or 0,
        storage=url,
        name=name,
        lease=given.lease_seconds or DEFAULT_LEASE_SECONDS,
        stop=given.stop_rules,
        origin=built.origin,
    )


def _as_begun(objectives: Sequence[Objective], url: str, name: str) -> tuple[Objective, ...]:
    """The objectives with what a stored study says of the trainings that its designs share: older ones say nothing."""
    reuse = {objective.name: objective.reuse for objective in study_copy(url, name).study.objectives}
    return tuple(replace(objective, reuse=reuse.get(objective.name, objective.reuse)) for objective in objectives)


def _open_recorded(name: str, options: SystemOptions, given: StudyOptions) -> tuple[Study, BuiltSystem]:
    """The study of a recorded table, new or stored, and what answers it."""
    built = recorded_table(name, options.objectives)
    stored = _stored_name(built, given)
    if not stored:
        return _open_study(built, given), built
    as_trained = not stored_origin(_url(built.system, given), stored).get(IN_PRECISION)
    study = _open_study(recorded_table(name, options.objectives, as_trained=as_trained), given)
    return study, recorded_table(name, options.objectives, as_trained=as_trained, study=study)


def _url(system: System, given: StudyOptions) -> str:
    return given.storage or f"sqlite:///{system.name}.db"


def _own_name(system: System) -> str:
    """Values that were made otherwise are another study, in the same file."""
    return f"{system.name} {system.identity}" if system.identity else system.name


def _stored_name(built: BuiltSystem, given: StudyOptions) -> str:
    """The name of the study that a run continues; empty if it begins one."""
    url, own = _url(built.system, given), given.name or _own_name(built.system)
    if is_stored(url, own):
        return own
    return "" if given.name else _begun_elsewhere(url, built)


def _begun_elsewhere(url: str, built: BuiltSystem) -> str:
    """The study of the same request by a machine that trains if this one does not, or does not if this one does.

    A machine that only measures energy loads a part of the data, and its study has a name of its own.
    """
    if not is_stored(url, ""):
        return ""
    mine = built.origin
    if "training" not in mine:
        return ""
    own = ("training", "shape", "trains", IN_PRECISION, CHANCE)
    for study in stored_studies(url):
        other = stored_origin(url, study.name)
        is_same = {**other, **dict.fromkeys(own)} == {**mine, **dict.fromkeys(own)}
        has_same_network = other.get("shape") in (None, mine["shape"])
        if is_same and has_same_network and "training" in other and not (mine["trains"] and other.get("trains")):
            return study.name
    return ""


def _join_study(system: str, options: SystemOptions, given: StudyOptions) -> tuple[Study, BuiltSystem]:
    """A study that was created where energy is measured, and what measures the error for it."""
    url = given.storage or f"sqlite:///{system}.db"
    lease = given.lease_seconds or DEFAULT_LEASE_SECONDS
    if not is_stored(url, ""):
        raise _begins_elsewhere(url, system)
    study = load_study(url, given.name or _only_study(url, system), lease=lease)
    budget = given.budget_seconds or DEFAULT_BUDGET_SECONDS
    return study, rebuild_system(study, options, ["error_percent"], system=system, budget=budget)


def _only_study(url: str, system: str) -> str:
    found = [study.name for study in stored_studies(url) if stored_origin(url, study.name).get("system") == system]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidValueError(
            f"{shown_url(url)} holds several studies of {system}; name one with --name: {', '.join(map(repr, found))}."
        )
    raise _begins_elsewhere(url, system)


def _begins_elsewhere(url: str, system: str) -> InvalidValueError:
    return InvalidValueError(
        f"{shown_url(url)} holds no study of {system} yet. A study begins where energy is measured, because the "
        f"options of the deployment are those of that machine: start it there with flexibo run {system} --only "
        "energy_millijoules, in a storage that both machines reach (--storage), then run this command again; or leave "
        "--only out to measure both here."
    )


def _default_picture(built: BuiltSystem, study: str, url: str) -> PictureFile:
    """The usual picture, called as the system, or as its study if that was given a name of its own."""
    system, database = built.system, sqlite_file(url)
    is_named = study not in (system.name, _own_name(system))
    usual = Path(f"{file_stem(study) if is_named else system.name}.png")
    return picture_beside(usual, None if database == Path(f"{system.name}.db").absolute() else database)


def _measure_and_report(
    study: Study,
    system: System,
    execution: ExecutionOptions,
    executor: ExecutorChoice,
    about: Report,
    confirming: Confirming | None = None,
) -> None:
    if not about.is_quiet:
        introduce_system(system)
    objectives = leading_objectives(study.history, execution.only)
    idle = execution.idle_seconds
    place, detail = StudyPlace(about.url, study.name), Detail.QUIET if about.json else about.detail
    queued = measure(
        study, system.functions, objectives, executor, place, idle=idle, confirming=confirming, detail=detail
    )
    report(study, about, ran=True, queued=queued)


def introduce_system(system: System) -> None:
    console = output_console()
    console.print(
        f"[bold]{system.name}[/]: {counted(len(system.space.names), 'option')}, "
        f"{count_of_designs(system.space.size)} designs.",
        highlight=False,
    )
    for note in system.notes:
        console.print(note, highlight=False, markup=False)
