"""Study files that name a system: what was typed goes before what is written, and the system is built here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flexibo.cli._build_system import (
    IN_PRECISION,
    BuiltSystem,
    build_system,
    check_same_system,
    recorded_table,
    stored_number,
    stored_texts,
    system_request,
)
from flexibo.cli._measure import leading_objectives
from flexibo.cli._options import StudyOptions, SystemOptions
from flexibo.cli._storage import is_stored
from flexibo.errors import InvalidValueError
from flexibo.objectives import Objective
from flexibo.study import Study
from flexibo.studyfile import StudyFile, SystemFile
from flexibo.studyfile.file import MeasuredSystem
from flexibo.systems.base import Measure, System
from flexibo.systems.dnn import ERROR, reads_energy
from flexibo.transfer import study_copy

OF_FILE = ("study_file", "sha256", "cost_unit")
"""Keys of an origin that say from which file a study is, and not of what."""


def chosen_storage(file: StudyFile | SystemFile, given: StudyOptions) -> str:
    """Where the study of a file is stored: as typed, as in the file, as in the environment, or beside the file."""
    return given.storage if given.storage and (given.is_storage_typed or not file.names_storage) else file.storage


def with_system(
    file: SystemFile, typed: SystemOptions, given: StudyOptions, only: Collection[str], *, resumes: bool = False
) -> StudyFile:
    """The study of a file with the system that it names, built to measure only these objectives (all if empty).

    A stored study keeps the options that it has, which are those of the machine that reads its energy. Who `resumes` it
    need not type again what was typed when it began.
    """
    options, url, name = _options(file, typed), chosen_storage(file, given), given.name or file.name
    stored = study_copy(url, name).study if is_stored(url, name) else None
    if only and not reads_energy(leading_objectives(stored.history, only) if stored is not None else only):
        options = replace(options, platform=typed.platform)  # the written one is where energy is read
    built = _built(file, options, given, only, stored, resumes=resumes)
    system, origin = built.system, built.origin
    space, objectives = system.space, system.objectives
    if stored is not None:
        named = leading_objectives(stored.history, only) if only else ()
        check_same_system(stored, built, named, file=options.written_in)
        space, objectives = stored.space, stored.objectives
        origin = {key: value for key, value in stored.history.origin.items() if key not in OF_FILE}
    shown = f"recorded table {system.name}" if origin.get("recorded") else f"system {file.system}"
    measures = _measures(system, objectives)
    return file.study_file(space, objectives, measures, MeasuredSystem(shown, origin, system.notes))


def _options(file: SystemFile, typed: SystemOptions) -> SystemOptions:
    """What was typed about a system, else what is written, else what the environment says."""
    written: dict[str, Any] = {"models": file.path.with_name("models"), **file.about}
    if "and" in written:
        written["objectives"] = written.pop("and")
    if "longest" in written:
        written["longest"] = f"{written['longest']!r}s"
    usual = SystemOptions()
    chosen = {key: value for key, value in written.items() if getattr(typed, key) == getattr(usual, key)}
    if "data" in written and not typed.is_data_typed:
        chosen["data"] = written["data"]
    return replace(typed, **chosen, written_in=file.source.shown)


def _built(
    file: SystemFile,
    options: SystemOptions,
    given: StudyOptions,
    only: Collection[str],
    stored: Study | None,
    *,
    resumes: bool,
) -> BuiltSystem:
    begun: Mapping[str, Any] = {} if stored is None else stored.history.origin
    if resumes and not options.objectives:
        options = replace(options, objectives=stored_texts(begun, "and"))
    if options.recorded or (resumes and begun.get("recorded")):
        as_trained = stored is not None and not begun.get(IN_PRECISION)
        built = recorded_table(file.system, options.objectives, as_trained=as_trained)
        if stored is None or begun.get("system") != built.system.name:  # what differs is said by who compares them
            return built
        return recorded_table(file.system, options.objectives, as_trained=as_trained, study=stored)
    names = leading_objectives(stored.history, only) if stored is not None and only else only
    if stored is None and not reads_energy(names):
        raise InvalidValueError(
            f"There is no study {given.name or file.name!r} of {file.source.shown} yet. A study begins where energy is "
            "measured, because the options of the deployment are those of that machine: start it there with "
            f"flexibo run {file.source.shown} --only energy_millijoules, in a storage that both machines reach."
        )
    seed = file.settings["seed"] if given.seed is None else given.seed
    seed = (stored_number(begun, "seed") or 0) if begun else seed  # of the trainings
    budget = given.budget_seconds or (stored.budget if stored is not None else None) or file.settings["budget"]
    origin = begun if resumes else {}
    request = system_request(file.system, options, names, seed=seed, budget=budget, origin=origin)
    as_trained = bool(begun) and not begun.get(IN_PRECISION)
    return build_system(request, options.objectives, as_trained=as_trained, file=options.written_in)


def _measures(system: System, objectives: Sequence[Objective]) -> dict[str, Measure]:
    """The function of each objective; on a machine that only trains, those of the others raise an error."""
    energy = next(function for name, function in system.functions.items() if name != ERROR)
    names = [objective.name for objective in objectives if objective.measured_with is None]
    return {name: system.functions.get(name, energy) for name in names}
