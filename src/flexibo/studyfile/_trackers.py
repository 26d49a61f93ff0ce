"""The experiment trackers that a study file names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from flexibo.integrations._tracking import Tracker
from flexibo.integrations.trackers import TRACKERS, find_tracker
from flexibo.studyfile._fields import Fields
from flexibo.studyfile._yaml_nodes import YamlMapping, YamlScalar
from flexibo.studyfile.mistakes import nearest

FOLDERS = {"wandb": ".", "tensorboard": "runs"}
"""Where the trackers write by default, seen from the study file."""


@dataclass(frozen=True, slots=True)
class TrackerChoice:
    """A tracker that a study file names, with its arguments."""

    name: str
    arguments: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def open(self) -> Tracker:
        """The tracker; it does nothing before the study asks something."""
        return find_tracker(self.name, **self.arguments)


def trackers_of(fields: Fields, folder: Path) -> tuple[TrackerChoice, ...]:
    """The trackers in the file; paths are beside it unless they are absolute."""
    trackers = fields.inner("trackers", " of trackers", "a mapping such as {mlflow: {uri: sqlite:///mlflow.db}}")
    if trackers is None:
        return ()
    found = []
    for entry in trackers.table.entries:
        if entry.key not in TRACKERS:
            fields.mistakes.add(entry.place, f"Unknown tracker {entry.key!r}{nearest(entry.key, TRACKERS)}")
            continue
        is_empty = isinstance(entry.node, YamlScalar) and entry.node.value is None
        table = YamlMapping((), entry.place) if is_empty else entry.node
        if not isinstance(table, YamlMapping):
            takes = ", ".join(TRACKERS[entry.key].takes)
            trackers.note(entry.key, f"Tracker {entry.key} must be a mapping with {takes}, or be empty.")
            continue
        inner = Fields(table, fields.mistakes, f" of tracker {entry.key!r}")
        inner.check_keys(TRACKERS[entry.key].takes)
        texts = {key: inner.text(key) for key in TRACKERS[entry.key].takes}
        found.append(TrackerChoice(entry.key, _placed(entry.key, texts, folder)))
    return tuple(found)


def _placed(name: str, texts: Mapping[str, str | None], folder: Path) -> dict[str, str]:
    given = {key: text for key, text in texts.items() if text is not None}
    if name in FOLDERS:
        given["folder"] = str(folder / given.get("folder", FOLDERS[name]))
    uri = given.get("uri", "")
    if uri.startswith("sqlite:///") and not uri.startswith("sqlite:////"):
        given["uri"] = f"sqlite:///{folder / uri.removeprefix('sqlite:///')}"
    return given
