"""A copy of a stored study in memory: reading it changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexibo.belief.costs import TRANSFORMS
from flexibo.storage import MemoryStorage, Sign, Storage
from flexibo.storage.base import Content, DamagedStudyError, place_of
from flexibo.study import Study
from flexibo.study.settings import every_design
from flexibo.study.stored import stored_study
from flexibo.surrogates.table import SURROGATES


@dataclass(frozen=True, slots=True)
class StudyCopy:
    """A copy of a stored study; for what is missing it allows every design, or takes the method's own choice."""

    name: str
    contents: Sequence[Content]  # its events as they are stored
    study: Study  # their replay, in memory
    workers: Mapping[str, Sign]  # the latest heartbeat of each
    missing: tuple[str, ...] = ()  # of "rule", "cost", "surrogate": what cannot be stored

    @property
    def times(self) -> list[float | None]:
        """When each event was written, in seconds since 1970; None if unknown."""
        return [time_of(content) for content in self.contents]


def study_copy(storage: str | Storage, name: str | None = None, *, checkpoints: Path | None = None) -> StudyCopy:
    """A copy of a stored study, by name where there are several; nothing is created, changed or locked.

    Its checkpoints are in this folder, or where those of the stored study are by default.
    """
    found, name, _ = stored_study(storage, name)
    folder = checkpoints or getattr(found, "checkpoints", None)
    try:
        return copy_of(found.read(), name, found.workers(), checkpoints=folder)
    except DamagedStudyError as error:  # the copy does not know where the study is stored
        raise DamagedStudyError(error.damage, place_of(found)) from None


def copy_of(
    contents: Sequence[Content],
    name: str,
    workers: Mapping[str, Sign] | None = None,
    *,
    checkpoints: Path | None = None,
) -> StudyCopy:
    """The study that is the replay of these events, in memory."""
    with_settings = [content for content in contents if content.get("event") in SETTING]
    missing = not_stored(contents[0]["settings"])
    for content in with_settings[1:]:
        missing = tuple(dict.fromkeys([*missing, *not_stored(content["settings"])]))
    memory = MemoryStorage()
    memory.commit(0, lambda _: [readable(content) for content in contents])
    rule = every_design if "rule" in missing else None
    study = Study.load(memory, name, valid=rule, checkpoints=checkpoints)
    return StudyCopy(name, contents, study, workers or {}, missing)


SETTING = ("created", "changed")  # the kinds of events that have settings


def readable(content: Content) -> Content:
    """An event, without the choices of its settings that are not stored."""
    settings = content.get("settings")
    if content.get("event") not in SETTING or not isinstance(settings, Mapping):
        return content
    return {**content, "settings": {**settings, **{part: "" for part in not_stored(settings) if part != "rule"}}}


def not_stored(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The functions and objects of a study that are not stored: "rule", "cost", "surrogate"."""
    rule = ("rule",) if settings["space"].get("has_rule") else ()
    parts = (("cost", TRANSFORMS), ("surrogate", SURROGATES))
    return rule + tuple(part for part, known in parts if settings[part] and settings[part] not in known)


def time_of(content: Content) -> float | None:
    """When an event was written, in seconds since 1970; None if unknown."""
    time = content.get("time")
    return float(time) if isinstance(time, int | float) and not isinstance(time, bool) else None
