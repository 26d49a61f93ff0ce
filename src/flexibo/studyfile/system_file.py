"""Study files of the paper's systems: what ``flexibo run SYSTEM`` takes as options, written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexibo._internal.durations import UNITS
from flexibo.executors import Measure
from flexibo.objectives import Objective
from flexibo.space import Space
from flexibo.studyfile._executor import ExecutorChoice, executor_of
from flexibo.studyfile._fields import Fields
from flexibo.studyfile._places import KnownSource, function_of, known_of, storage_of
from flexibo.studyfile._settings import cost_of, initial_of, settings_of
from flexibo.studyfile._trackers import TrackerChoice, trackers_of
from flexibo.studyfile._yaml_nodes import YamlMapping, YamlScalar, nodes_of
from flexibo.studyfile.file import KEYS, SYSTEM, FileText, MeasuredSystem, StudyFile, read_file_text, study_file_of
from flexibo.studyfile.mistakes import Mistakes, Position, nearest
from flexibo.systems.catalogue import SYSTEMS
from flexibo.systems.dnn import BESIDE, ENERGY, ERROR, ESTIMATE
from flexibo.systems.platforms import PLATFORMS
from flexibo.systems.recorded import recordings
from flexibo.systems.sizes import SIZES

RECORDED, AND, KNOBS = "recorded", "and", "knobs"
HOW_TO_MEASURE = (
    *("size", "dataset", "data", "limit", "epochs", "encoder", "augment", "models", "platform", "meter", "estimate"),
    *("longest", KNOBS, "allow_gpu", "cool"),
)
"""Keys that a replayed table has no use for."""
SYSTEM_KEYS = (SYSTEM, RECORDED, AND, *HOW_TO_MEASURE)
OF_ANY_STUDY = (
    *("name", "method", "budget", "seed", "storage", "reference", "n_initial", "initial_designs", "known", "stop"),
    *("executor", "lease", "candidates", "delta", "surrogate", "cost", "trackers"),
)
FOREIGN = tuple(key for key in KEYS if key not in (*OF_ANY_STUDY, *SYSTEM_KEYS))
"""Keys of study files that describe what a system has already."""
DEFAULT_BUDGET_SECONDS = 1800.0
DEFAULT_SEED = 0  # of the trainings too, so it is not drawn


@dataclass(frozen=True, slots=True)
class SystemFile:
    """A study file that names a system; `study_file` gives it the options and functions that the system has here."""

    source: FileText
    name: str  # of the study
    storage: str
    names_storage: bool  # whether the file names it
    system: str  # the name of a system, or of a recorded table
    about: Mapping[str, Any]  # what the file says about the system, by its keys; paths are absolute
    executor: ExecutorChoice
    settings: Mapping[str, Any]  # arguments of `flexibo.Study`, with a budget and a seed
    budget_is_duration: bool = True
    trackers: tuple[TrackerChoice, ...] = ()
    known: tuple[KnownSource, ...] = ()

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.source.path

    def study_file(
        self, space: Space, objectives: Sequence[Objective], measures: Mapping[str, Measure], system: MeasuredSystem
    ) -> StudyFile:
        """The study of the file, with these options, objectives and functions."""
        return StudyFile(
            self.source,
            self.name,
            self.storage,
            self.names_storage,
            space,
            tuple(objectives),
            measures,
            self.executor,
            self.settings,
            self.budget_is_duration,
            self.trackers,
            known=self.known,
            system=system,
        )


def read_any_file(path: str | Path) -> StudyFile | SystemFile:
    """The study that a file describes, or the system that it names; see `read_study_file`."""
    return any_file_of(read_file_text(Path(path).expanduser()))


def any_file_of(source: FileText) -> StudyFile | SystemFile:
    """The study that the text of a file describes, or the system that it names."""
    root = nodes_of(source.text, Mistakes(source.shown))
    names_system = isinstance(root, YamlMapping) and root.get(SYSTEM) is not None
    return system_file_of(source) if names_system else study_file_of(source)


def system_file_of(source: FileText) -> SystemFile:
    """The system that the text of a file names, and its settings; a `StudyFileError` lists all mistakes."""
    mistakes = Mistakes(source.shown)
    root = nodes_of(source.text, mistakes)
    if not isinstance(root, YamlMapping):
        raise mistakes.error()
    fields, folder = Fields(YamlMapping(root.entries, Position(1, 1)), mistakes), source.path.parent
    fields.check_keys((*SYSTEM_KEYS, *OF_ANY_STUDY, *FOREIGN, "only"))
    _note_foreign(fields, source.shown)
    system = _system(fields)
    about = _about(fields, folder)
    _note_misfits(fields, system, about)
    name = fields.text("name") or system or folder.name
    objectives = _objectives(about)
    settings = {"budget": DEFAULT_BUDGET_SECONDS, "seed": DEFAULT_SEED, **settings_of(fields, objectives)}
    settings |= initial_of(fields, None) | cost_of(fields, lambda: function_of(fields, "cost", folder))
    executor = executor_of(fields, [one.name for one in objectives if one.measured_with is None], folder)
    storage, trackers, known = storage_of(fields, name, folder), trackers_of(fields, folder), known_of(fields, folder)
    mistakes.check()
    written = fields.table.get("budget")
    is_duration = not isinstance(written, YamlScalar) or str(written.value).strip()[-1:] in UNITS
    named = fields.has("storage")
    return SystemFile(source, name, storage, named, system, about, executor, settings, is_duration, trackers, known)


def _system(fields: Fields) -> str:
    """The name of the system, or of the recorded table; empty if it is wrong, which is noted."""
    name = fields.text(SYSTEM)
    if name is None:
        return ""
    is_recorded = fields.flag(RECORDED) or False
    tables = recordings()
    if name in tables and not is_recorded:
        fields.note(SYSTEM, f"{name!r} is a recorded table; add recorded: true to replay it.")
        return ""
    known = [*SYSTEMS, *tables] if is_recorded else list(SYSTEMS)
    if name not in known:
        fields.note(SYSTEM, f"Unknown system {name!r}{nearest(name, known)}")
        return ""
    return name


def _about(fields: Fields, folder: Path) -> dict[str, Any]:
    """What the file says about the system; missing keys are omitted."""
    found: dict[str, Any] = {
        RECORDED: fields.flag(RECORDED),
        AND: fields.names(AND, BESIDE, "objective"),
        "size": fields.one_of("size", SIZES),
        "dataset": fields.text("dataset"),
        "limit": fields.whole("limit", 1),
        "epochs": fields.whole("epochs", 1),
        "augment": fields.flag("augment"),
        "platform": fields.one_of("platform", ("auto", *PLATFORMS)),
        "meter": fields.text("meter"),
        "estimate": _watts(fields),
        "longest": fields.duration("longest"),
        KNOBS: _knobs(fields),
        "allow_gpu": fields.flag("allow_gpu"),
        "cool": fields.number("cool"),
    }
    for key in ("data", "encoder", "models"):
        place = fields.text(key)
        found[key] = None if place is None else folder / Path(place).expanduser()
    return {key: value for key, value in found.items() if value is not None}


def _watts(fields: Fields) -> float | None:
    watts = fields.number("estimate")
    if watts is not None and watts <= 0:
        fields.note("estimate", f"estimate is {watts:g}; it must be a power in watts, more than zero.")
        return None
    return None if watts is None else float(watts)


def _knobs(fields: Fields) -> tuple[str, ...] | None:
    node = fields.table.get(KNOBS)
    if isinstance(node, YamlScalar) and node.value == "all":
        return ("all",)
    if isinstance(node, YamlMapping):
        fields.note(
            KNOBS, "knobs of a system is a list of names, as in [swappiness], or all: it has values of its own."
        )
        return None
    return fields.names(KNOBS, None, "knob")


def _objectives(about: Mapping[str, Any]) -> list[Objective]:
    """The objectives that the system will have, by name."""
    energy = ESTIMATE if "estimate" in about else ENERGY
    return [Objective(ERROR), Objective(energy), *(Objective(one, measured_with=energy) for one in about.get(AND, ()))]


def _note_foreign(fields: Fields, shown: str) -> None:
    """Note keys that describe what the system has already, in one sentence, and what is a matter of the machine."""
    given = [entry for entry in fields.table.entries if entry.key in FOREIGN]
    if given:
        keys = _listed([entry.key for entry in given])
        verb, it = ("does", "it") if len(given) == 1 else ("do", "them")
        fields.mistakes.add(
            given[0].place,
            f"{keys} {verb} not go with system: a system has its own options, objectives and functions; leave {it} "
            "out, or leave system out.",
        )
    if fields.has("only"):
        fields.note("only", f"What a machine measures is typed there: flexibo run {shown} --only {ERROR}")


def _listed(words: Sequence[str]) -> str:
    """Words in a sentence.

    >>> _listed(["size"]), _listed(["size", "data", "limit"])
    ('size', 'size, data and limit')
    """
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def _note_misfits(fields: Fields, system: str, about: Mapping[str, Any]) -> None:
    """Note keys that do not fit the system or each other."""
    if about.get(RECORDED):
        given = [key for key in HOW_TO_MEASURE if fields.has(key)]
        if given:
            verb, it = ("says", "it") if len(given) == 1 else ("say", "them")
            fields.note(
                given[0],
                f"{_listed(given)} {verb} how to measure, and recorded: true measures nothing; leave {it} or recorded "
                "out.",
            )
        return
    if system not in SYSTEMS:
        return
    found = SYSTEMS[system]
    if "dataset" in about and about["dataset"] not in found.datasets:
        fields.note(
            "dataset", f"Unknown dataset {about['dataset']!r} of {system}{nearest(about['dataset'], found.datasets)}"
        )
    if "epochs" in about and "epochs" in found.options:
        fields.note("epochs", f"The number of epochs is an option of {system}; leave epochs out.")
    if "encoder" in about and found.network != "bert":
        fields.note("encoder", f"{system} has no encoder; leave encoder out.")
    elif "encoder" in about and about.get("size") == "tiny":
        fields.note("encoder", "The size tiny starts from scratch, without an encoder; leave one of them out.")
    if about.get("augment") and found.kind != "images":
        fields.note("augment", f"{system} does not learn from images; leave augment out.")
    if "estimate" in about and about.get("meter", "auto") != "auto":
        fields.note("estimate", "estimate is for machines without a meter; leave estimate or meter out.")
