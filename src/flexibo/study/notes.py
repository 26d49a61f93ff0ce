"""Notes on stored studies: they need neither the functions nor the models of a study."""

from __future__ import annotations

from flexibo.history import History
from flexibo.history.events import Noted
from flexibo.objectives import Objective
from flexibo.space import Space
from flexibo.storage import Storage
from flexibo.study._arguments import checked_text
from flexibo.study.event_log import EventLog
from flexibo.study.settings import every_design
from flexibo.study.stored import stored_study


def add_note(storage: str | Storage, name: str | None, text: str) -> tuple[str, Noted]:
    """Store a note with a study, by name where there are several; returns the name and the note, which may be cut."""
    note = Noted(checked_text("The note", text))
    found, name, settings = stored_study(storage, name)
    rule = every_design if settings["space"].get("has_rule") else None
    space = Space.from_dict(settings["space"], valid=rule)
    objectives = [Objective.from_dict(objective) for objective in settings["objectives"]]
    log = EventLog(found, History(space, objectives), name=name)
    try:
        log.begin()
        log.commit(lambda: [note])
    finally:
        log.close()
    return name, note
