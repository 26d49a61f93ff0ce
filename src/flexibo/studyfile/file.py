"""StudyFile: a study written down, checked as a whole before anything runs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flexibo._internal.durations import UNITS
from flexibo.errors import InvalidValueError, SettingsDifferError
from flexibo.executors import Measure
from flexibo.hardware import close_meter
from flexibo.hardware.boards import BoardError
from flexibo.objectives import Objective
from flexibo.space import Space
from flexibo.storage import Storage, sqlite_file
from flexibo.storage.heartbeat import LEASE
from flexibo.study import Study
from flexibo.study.changes import UNSET, ChangeRequest
from flexibo.study.settings import check_same_space, every_design
from flexibo.studyfile._board import BoardChoice, board_of, check_used
from flexibo.studyfile._executor import ExecutorChoice, executor_of
from flexibo.studyfile._fields import Fields
from flexibo.studyfile._objectives import FileContext, check_manual, objectives_of
from flexibo.studyfile._options import knob_names, space_of
from flexibo.studyfile._places import KnownSource, function_of, known_of, storage_of
from flexibo.studyfile._settings import check_whole, cost_of, initial_of, settings_of
from flexibo.studyfile._trackers import TrackerChoice, trackers_of
from flexibo.studyfile._yaml_nodes import MOST_BYTES, YamlMapping, YamlScalar, nodes_of
from flexibo.studyfile.command import Command
from flexibo.studyfile.functions import Function
from flexibo.studyfile.machine_settings import NO_SETTINGS, MachineSettings, ends_or_values
from flexibo.studyfile.mistakes import Mistakes, Position, StudyFileError, nearest
from flexibo.studyfile.template import Template, variable

KEYS = (
    *("name", "method", "budget", "seed", "storage", "options", "designs", "valid", "objectives", "reference"),
    *("n_initial", "initial_designs", "stop", "executor", "logs", "lease", "candidates", "delta", "surrogate", "cost"),
    *("trackers", "defaults", "known", "knobs", "board", "checkpoints"),
)
SYSTEM = "system"
OF_SYSTEMS = ("recorded", "size", "dataset", "platform", "epochs", "encoder", "augment", "estimate")
"""Keys that only files with a system have, as far as their names leave no doubt of that."""
SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class FileText:
    """A study file as it was read, once: what is checked, hashed and run is the same."""

    path: Path  # absolute, without links
    shown: str  # its name in messages
    text: str
    digest: str  # the SHA-256 of its bytes


@dataclass(frozen=True, slots=True)
class MeasuredSystem:
    """The system that the study of a file optimises, if the file names one instead of options and objectives."""

    shown: str  # how its objectives are measured, for people
    origin: Mapping[str, Any]  # what is stored to build it again; no paths
    notes: tuple[str, ...] = ()  # how it is measured on this machine


@dataclass(frozen=True, slots=True)
class StudyFile:
    """A study as a file describes it."""

    source: FileText
    name: str  # of the study
    storage: str  # the database URL; one that the file does not name is beside it
    names_storage: bool  # whether the file names it
    space: Space
    objectives: tuple[Objective, ...]
    measures: Mapping[str, Measure]  # of each objective that is asked for; not of those that are measured manually
    executor: ExecutorChoice
    settings: Mapping[str, Any]  # the other arguments of `flexibo.Study` that are in the file
    budget_is_duration: bool = False  # whether the budget has a unit of time
    trackers: tuple[TrackerChoice, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)  # what designs have that are older than an option
    known: tuple[KnownSource, ...] = ()  # where results come from that are known before the first question
    knobs: MachineSettings = NO_SETTINGS  # the options that are settings of the machine
    board: BoardChoice | None = None  # a machine that measures for us; the knobs are its settings then
    meters: Mapping[str, str] = field(default_factory=dict)  # what each metered objective is read from here
    system: MeasuredSystem | None = None  # where the options, the objectives and the functions are those of a system

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.source.path

    @property
    def by_hand(self) -> tuple[str, ...]:
        """The objectives that are measured manually, with ``flexibo ask`` and ``flexibo tell``."""
        asked = (objective.name for objective in self.objectives if objective.measured_with is None)
        return tuple(name for name in asked if name not in self.measures)

    @property
    def origin(self) -> dict[str, Any]:
        """What is stored to find the file again: its path and its SHA-256, but none of its commands.

        If the budget is written as a duration, costs are seconds. The unit of costs that people report is not known.
        """
        unit = {"cost_unit": "s"} if self.budget_is_duration else {"cost_unit": ""} if self.by_hand else {}
        meters = {"meters": dict(self.meters)} if self.meters else {}
        system = {} if self.system is None else dict(self.system.origin)
        return {**system, "study_file": str(self.path), "sha256": self.source.digest, **unit, **meters}

    @property
    def metered(self) -> tuple[str, ...]:
        """The objectives whose commands are metered."""
        commands = {name: one for name, one in self.measures.items() if isinstance(one, Command)}
        return tuple(name for name, command in commands.items() if command.meter is not None)

    def on_this_machine(self, objectives: Collection[str]) -> tuple[StudyFile, int]:
        """The file, with what its meters are called here, and how many settings of a killed session were restored.

        A meter that cannot be read, or a setting that cannot be changed, for one of these objectives is an error.
        """
        needed = [self.measures[name] for name in objectives if name in self.measures]
        there = [one for one in needed if isinstance(one, Command) and one.board is not None]
        measures = [one for one in needed if one not in there]
        meters, n_restored = self._on_board(there)
        for measure in measures:
            if isinstance(measure, Command) and measure.meter is not None:
                meter = measure.meter.opened(measure.inherited(measure.meter.name))
                meters[measure.objective] = meter.name
                close_meter(meter)
        chosen = [measure.settings.names for measure in measures if isinstance(measure, Command | Function)]
        restored = self.knobs.among(tuple(name for names in chosen for name in names)).check(self.space)
        return replace(self, meters=meters), n_restored + len(restored)

    def _on_board(self, commands: list[Command]) -> tuple[dict[str, str], int]:
        """What the meters of these commands are called on the board, and how many settings it has restored."""
        if self.board is None or not commands:
            return {}, 0
        board = self.board.board
        names = {command.objective: command.meter.name for command in commands if command.meter is not None}
        knobs = {name for command in commands for name in command.settings.names}
        values = {name: list(ends_or_values(self.space, name)) for name in knobs}
        found = board.check(meters=tuple(names.values()), knobs=values)
        if found["problems"]:
            raise BoardError(" ".join(f"On {board}: {sentence}" for sentence in found["problems"]))
        meters = {objective: f"{found['opened'][name]} on {found['hostname']}" for objective, name in names.items()}
        return meters, int(found["restored"])

    def check_same_meters(self, origin: Mapping[str, Any]) -> None:
        """Raise an error if an objective was read from another meter before: such readings must not be mixed."""
        before = origin.get("meters")
        for name, meter in self.meters.items():
            if isinstance(before, Mapping) and before.get(name) not in (None, meter):
                raise InvalidValueError(
                    f"{name} of this study is read from {before[name]}; here it would be {meter}. Measurements of two "
                    "meters must not be mixed: measure it where it was begun, or start another study."
                )

    def check_executor(self, executor: ExecutorChoice) -> None:
        """Raise an error if evaluations would run at the same time that need different settings of one machine."""
        if self.knobs.names and self.board is None and executor.name == "processes" and executor.workers != 1:
            raise InvalidValueError(
                f"knobs ({', '.join(self.knobs.names)}) are settings of the whole machine, so evaluations cannot run "
                "at the same time; leave the executor out, or give it one worker."
            )

    def other_database(self, url: str) -> Path | None:
        """The SQLite file of a URL if it is not the one of this study file, as after a backup; otherwise None."""
        file = sqlite_file(url)
        return None if file == sqlite_file(self.storage) else file

    def measuring_for(self, url: str) -> StudyFile:
        """The study file for a study in this database: a copy keeps the logs of its commands beside itself."""
        copy = self.other_database(url)
        if copy is None:
            return self
        return replace(self, measures={name: _logging_beside(copy, one) for name, one in self.measures.items()})

    def study(self, **changed: Any) -> Study:
        """The study, new or resumed; `changed` are arguments of `flexibo.Study` that replace what the file says."""
        given = {"name": self.name, "storage": self.storage, **self.settings, **changed}
        if "callbacks" not in given:
            given["callbacks"] = [tracker.open() for tracker in self.trackers]
        return Study(self.space, self.objectives, origin=self.origin, **given)

    def joined(self, storage: str, name: str, *, lease: float | None = None, checkpoints: str = "") -> Study:
        """The stored study, which must have the options and the objectives of the file.

        Its method, seed and stop rules are the stored ones: they may have been given on the command line. The lease is
        by default that of the file, as is the folder for checkpoints.
        """
        cost, shown = self.settings.get("cost"), self.path.name
        try:
            study = Study.load(
                storage,
                name,
                valid=self.space.valid,
                objectives=self.objectives,
                cost=cost if callable(cost) else None,
                lease=self.settings.get("lease", LEASE) if lease is None else lease,
                callbacks=[tracker.open() for tracker in self.trackers],
                checkpoints=checkpoints or self.settings.get("checkpoints"),
            )
            check_same_space(self.space, study.history.settings, study.name)
        except SettingsDifferError as error:
            advice = f"Edit {shown} to match it, or change the study to match the file with: flexibo run {shown}"
            raise SettingsDifferError(error.difference, advice) from None
        return study

    def stored(self, *, storage: str | Storage = "", name: str = "", lease: float = LEASE, **_: Any) -> Study:
        """The study as it is stored, which may have other options and objectives than the file."""
        cost = self.settings.get("cost")
        return Study.load(
            storage or self.storage,
            name or self.name,
            valid=self.space.valid or every_design,
            cost=cost if callable(cost) else None,
            lease=lease,
        )

    def change_request(self, study: Study, changed: Mapping[str, Any]) -> ChangeRequest:
        """What must change in a stored study so that it is that of the file; `changed` replaces what the file says."""
        given = {**self.settings, **changed}
        cost, surrogate, budget = given.get("cost"), given.get("surrogate"), given.get("budget")
        new = [name for name in self.space.names if name not in study.space.names]
        return ChangeRequest(
            space=self.space,
            defaults={name: value for name, value in self.defaults.items() if name in new},
            objectives=self.objectives,
            only_these=True,
            reference=given.get("reference"),
            method=given.get("method", "flexibo"),
            budget=UNSET if budget is None else budget,
            cost=UNSET if cost is None else cost,
            surrogate=UNSET if surrogate is None else surrogate,
            candidates=given.get("candidates"),
            delta=given.get("delta"),
            origin=self.origin,
        )


def _logging_beside(database: Path, measure: Measure) -> Measure:
    if not isinstance(measure, Command) or not measure.logs:
        return measure
    return replace(measure, logs=str(database.with_name(f"{database.stem}-{Path(measure.logs).name}")))


def read_file_text(path: Path) -> FileText:
    """What a study file holds; what is not text, or too long to be one, is refused."""
    shown = str(path)
    try:
        if path.exists() and not path.is_file():  # reading from a pipe or a device may never end
            raise StudyFileError(f"{shown} is not a file; give a study file such as study.yaml.")
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        files = sorted(p.name for p in path.absolute().parent.glob("*") if p.suffix in SUFFIXES)
        hint = nearest(path.name, files) if files else "; flexibo init writes one."
        raise StudyFileError(f"There is no study file {shown}{hint}") from None
    except OSError as error:
        raise StudyFileError(f"{shown} cannot be read: {error.strerror or error}; give another file.") from None
    if len(data) > MOST_BYTES:
        raise StudyFileError(f"{shown} is longer than {MOST_BYTES} bytes, too long for a study file.")
    return file_text_of(data, path)


def file_text_of(data: bytes, path: Path) -> FileText:
    """The text of these bytes, as a study file at a path."""
    return FileText(path.resolve(), str(path), _text(data, str(path)), hashlib.sha256(data).hexdigest())


def _text(data: bytes, shown: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StudyFileError(
            f"{shown} is not UTF-8 text (see byte {error.start}); save it as such, or give another file."
        ) from None
    if "\0" in text:
        raise StudyFileError(f"{shown} is not text: it has zero bytes; give a study file such as study.yaml.")
    if not text.strip():
        raise StudyFileError(f"{shown} is empty; flexibo init writes an example.")
    return text


def read_study_file(path: str | Path, *, imports: bool = True) -> StudyFile:
    """The study that a file describes; a `StudyFileError` lists all of its mistakes, with their places."""
    return study_file_of(read_file_text(Path(path).expanduser()), imports=imports)


def study_file_of(source: FileText, *, imports: bool = True) -> StudyFile:
    """The study that the text of a file describes; see `read_study_file`."""
    mistakes = Mistakes(source.shown)
    root = nodes_of(source.text, mistakes)
    if root is None:
        mistakes.check()
        raise StudyFileError(f"{source.shown} says nothing; flexibo init writes an example.")
    if not isinstance(root, YamlMapping):
        mistakes.add(root.place, "A study file is a mapping of keys to values, such as name: first; see flexibo init.")
        raise mistakes.error()
    fields = Fields(YamlMapping(root.entries, Position(1, 1)), mistakes)
    if fields.has(SYSTEM):
        raise StudyFileError(
            f"{source.shown} is the study of a system, which only the command line runs: flexibo run {source.shown}"
        )
    for key in OF_SYSTEMS:
        if fields.has(key):
            fields.note(key, f"{key} is for the study of a system; name one, as in system: lenet, or leave {key} out.")
    fields.check_keys((*KEYS, SYSTEM, *OF_SYSTEMS))
    folder = source.path.parent
    rule = function_of(fields, "valid", folder)
    space = space_of(fields, folder, rule)
    logs = fields.text("logs")
    knobs = MachineSettings(knob_names(fields))
    names = _option_names(fields, space)
    board = board_of(fields, folder)
    around = FileContext(folder, str(folder / logs) if logs else "", space, names, imports, knobs, board)
    objectives, measures = objectives_of(fields, around)
    check_used(fields, board, [name for name, one in measures.items() if isinstance(one, Command)])
    name = fields.text("name") or folder.name or "study"
    settings = settings_of(fields, objectives)
    if (checkpoints := fields.text("checkpoints")) is not None:
        settings["checkpoints"] = str(folder / Path(checkpoints).expanduser())
    settings |= initial_of(fields, space) | cost_of(fields, lambda: function_of(fields, "cost", folder))
    defaults = _defaults(fields, _option_names(fields, space))
    known = known_of(fields, folder)
    check_manual(fields)
    executor = executor_of(fields, list(measures) or [objective.name for objective in objectives], folder)
    executor = _one_reading_at_a_time(executor, measures)
    storage = storage_of(fields, name, folder)
    trackers = trackers_of(fields, folder)
    if space is None or mistakes.found:
        raise mistakes.error()
    check_whole(fields, space, objectives, settings)
    mistakes.check()
    written = fields.table.get("budget")
    is_duration = isinstance(written, YamlScalar) and str(written.value).strip()[-1:] in UNITS
    named = fields.has("storage")
    file = StudyFile(
        source,
        name,
        storage,
        named,
        space,
        objectives,
        measures,
        executor,
        settings,
        is_duration,
        trackers,
        defaults,
        known,
        knobs,
        board,
    )
    try:
        file.check_executor(executor)
    except InvalidValueError as error:
        fields.note("executor", str(error))
        raise mistakes.error() from None
    return file


def _one_reading_at_a_time(executor: ExecutorChoice, measures: Mapping[str, Measure]) -> ExecutorChoice:
    """The executor with one slot for each metered objective that has none: two readings would include each other."""
    commands = {name: one for name, one in measures.items() if isinstance(one, Command)}
    metered = [name for name, one in commands.items() if one.meter is not None or one.board is not None]
    return replace(executor, slots={**dict.fromkeys(metered, 1), **executor.slots}) if metered else executor


def _option_names(fields: Fields, space: Space | None) -> tuple[str, ...]:
    """The names of the options, also where some of them have mistakes."""
    if space is not None:
        return space.names
    node = fields.table.get("options")
    options = (*(entry.key for entry in node.entries), *node.unread) if isinstance(node, YamlMapping) else ()
    return (*options, *knob_names(fields))


def _defaults(fields: Fields, options: tuple[str, ...]) -> dict[str, Any]:
    """The values that designs have which are older than an option; errors are noted."""
    inner = fields.inner("defaults", " of defaults", "a mapping of options to values, such as {threads: 1}")
    if inner is None:
        return {}
    if options:
        inner.check_keys(options)
    found = {}
    for entry in inner.table.entries:
        if isinstance(entry.node, YamlScalar) and entry.node.value is not None:
            found[entry.key] = entry.node.value
        else:
            inner.note(entry.key, f"{entry.key} of defaults is not a value; give one such as 1.")
    return found


def dependence_hints(file: StudyFile) -> list[str]:
    """A sentence for each objective that seems to depend on fewer options than it declares."""
    shared = {objective.measured_with for objective in file.objectives}
    found = []
    for objective in file.objectives:
        measure = file.measures.get(objective.name)
        if objective.options is not None or objective.name in shared or not isinstance(measure, Command):
            continue
        used = _used(measure.template, file.space.names, measure.settings.names)
        if used and len(used) < len(file.space.names):
            found.append(
                f"{objective.name} uses {', '.join(f'{{{name}}}' for name in used)} only; if it does not read the "
                f"others from its environment, set options: [{', '.join(used)}] and it is measured less often."
            )
    return found


def _used(template: Template, options: tuple[str, ...], settings: tuple[str, ...]) -> list[str]:
    """The options that a command names, in their order; empty if it may read all, or has no placeholder."""
    if not template.options or "FLEXIBO_DESIGN" in template.text:
        return []
    words = set(re.findall(r"\w+", template.text))
    return [name for name in options if name in template.options or variable(name) in words or name in settings]
