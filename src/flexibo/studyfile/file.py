"""StudyFile: a study written down, checked as a whole before anything runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexibo.executors import Measure
from flexibo.objectives import Objective
from flexibo.space import Space
from flexibo.storage.heartbeat import LEASE
from flexibo.study import Study
from flexibo.study.stored import stored_study
from flexibo.studyfile._executor import ExecutorChoice, executor_of
from flexibo.studyfile._fields import Fields
from flexibo.studyfile._objectives import FileContext, check_manual, objectives_of
from flexibo.studyfile._options import space_of
from flexibo.studyfile._settings import check_whole, cost_of, initial_of, settings_of
from flexibo.studyfile._yaml_nodes import YamlMapping, nodes_of
from flexibo.studyfile.file_text import FileText, read_file_text
from flexibo.studyfile.functions import found
from flexibo.studyfile.mistakes import Mistakes, Position, StudyFileError

KEYS = (
    "name",
    "method",
    "budget",
    "seed",
    "storage",
    "options",
    "designs",
    "valid",
    "objectives",
    "reference",
    "n_initial",
    "initial_designs",
    "stop",
    "executor",
    "logs",
    "lease",
    "candidates",
    "delta",
    "surrogate",
    "cost",
)


@dataclass(frozen=True, slots=True)
class StudyFile:
    """A study as a file describes it.

    Attributes:
        source: What the file holds.
        name: The name of the study.
        storage: The database URL; one that the file does not name is beside it.
        names_storage: Whether the file names it.
        space: The designs.
        objectives: The objectives.
        measures: What measures each objective that is asked for; those that are measured manually are not here.
        executor: Where they are measured.
        settings: The other arguments of `flexibo.Study`: what is not in the file is not here.
    """

    source: FileText
    name: str
    storage: str
    names_storage: bool
    space: Space
    objectives: tuple[Objective, ...]
    measures: Mapping[str, Measure]
    executor: ExecutorChoice
    settings: Mapping[str, Any]

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
        """What is stored to find the file again: its path and its SHA-256, but none of its commands."""
        return {"study_file": str(self.path), "sha256": self.source.digest}

    def study(self, **changed: Any) -> Study:
        """The study, new or resumed.

        Args:
            **changed: Arguments of `flexibo.Study` that replace what the file says.
        """
        given = {"name": self.name, "storage": self.storage, **self.settings, **changed}
        return Study(self.space, self.objectives, origin=self.origin, **given)

    def joined(self, storage: str, name: str, *, lease: float | None = None) -> Study:
        """The stored study, which must have the options and the objectives of the file.

        Its method, seed and stop rules are the stored ones: they may have been given on the command line.

        Args:
            storage: Where it is kept.
            name: Its name.
            lease: As in `flexibo.Study`; by default what the file says.
        """
        found, name, stored = stored_study(storage, name)
        cost = self.settings.get("cost")
        return Study(
            self.space,
            self.objectives,
            method=stored["method"],
            cost=cost if callable(cost) else None,
            storage=found,
            name=name,
            lease=self.settings.get("lease", LEASE) if lease is None else lease,
        )


def read_study_file(path: str | Path, *, imports: bool = True) -> StudyFile:
    """The study that a file describes.

    Args:
        path: The file.
        imports: Whether to import functions, to check that they can be imported.

    Raises:
        StudyFileError: The file cannot be read, or has mistakes: all of them are listed, with their places.
    """
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
    fields.check_keys(KEYS)
    folder = source.path.parent
    rule = _function(fields, "valid", folder)
    space = space_of(fields, folder, rule)
    logs = fields.text("logs")
    around = FileContext(folder, str(folder / logs) if logs else "", space, _option_names(fields, space), imports)
    objectives, measures = objectives_of(fields, around)
    name = fields.text("name") or folder.name or "study"
    settings = settings_of(fields, objectives)
    settings |= initial_of(fields, space) | cost_of(fields, lambda: _function(fields, "cost", folder))
    check_manual(fields)
    executor = executor_of(fields, list(measures) or [objective.name for objective in objectives])
    storage = _storage(fields, name, folder)
    if space is None or mistakes.found:
        raise mistakes.error()
    check_whole(fields, space, objectives, settings)
    mistakes.check()
    return StudyFile(source, name, storage, fields.has("storage"), space, objectives, measures, executor, settings)


def _option_names(fields: Fields, space: Space | None) -> tuple[str, ...]:
    """The names of the options, also where some of them have mistakes."""
    if space is not None:
        return space.names
    node = fields.table.get("options")
    return (*(entry.key for entry in node.entries), *node.unread) if isinstance(node, YamlMapping) else ()


def _function(fields: Fields, key: str, folder: Path) -> Callable[..., Any] | None:
    """A function that the file names."""
    place = fields.text(key)
    if place is None:
        return None
    try:
        return found(place, str(folder))
    except ValueError as error:
        fields.note(key, f"{key}: {error}")
        return None


def file_stem(name: str) -> str:
    """What the files of a study are called, without their suffix.

    >>> file_stem("nets, 2nd try")
    'nets-2nd-try'
    """
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "study"


def _storage(fields: Fields, name: str, folder: Path) -> str:
    """The database URL; a SQLite file is beside the study file unless its path is absolute."""
    url = fields.text("storage")
    if url is None:
        return f"sqlite:///{folder / file_stem(name)}.db"
    scheme, sign, rest = url.partition("://")
    if not sign:
        fields.note(
            "storage", "storage is not a URL; give one such as sqlite:///study.db or postgresql://me@host/studies."
        )
        return url
    is_relative = scheme.startswith("sqlite") and rest[:1] == "/" and rest[1:2] not in ("/", "~", "")
    return f"{scheme}:///{folder / rest[1:]}" if is_relative else url
