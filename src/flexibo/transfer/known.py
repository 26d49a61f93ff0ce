"""Results of earlier work for a study: of a table, or of another study, brought along before the first question."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from flexibo.errors import InvalidValueError
from flexibo.history.event_dicts import event_to_dict
from flexibo.study import Study
from flexibo.transfer._result_table import Results, read_results
from flexibo.transfer.evaluations import records, table_lines
from flexibo.transfer.study_copies import copy_of, study_copy

DATABASES = (".db", ".sqlite", ".sqlite3")


def learn_from(study: Study, source: str | Path | Study, name: str | None = None) -> Results:
    """Add the results and failures of a source to a study, all of them or none; returns what was added.

    They cost this study nothing. What it knows already is not added again, so the same source may be given again.

    Args:
        study: The study that learns.
        source: A CSV table with a column per option and per objective, such as ``flexibo export`` writes; a SQLite file
            or a database URL with a study; or a study.
        name: The name of the study in a database that has several.
    """
    study.refresh()
    with ExitStack() as stack:
        lines, shown = _lines(source, name, stack)
        contents = [event_to_dict(event) for event in study.events]
        found = read_results(lines, copy_of(contents, study.name), shown)
    study.learn(found.results, seen=len(contents))
    return found


def _lines(source: str | Path | Study, name: str | None, stack: ExitStack) -> tuple[Iterable[str], str]:
    """The results of a source as lines of CSV, and what it is called in messages."""
    if isinstance(source, Study):
        return table_lines(source.history, records(source.history, [None] * len(source.events))), repr(source.name)
    text = str(source)
    path = Path(text).expanduser()
    if "://" not in text and path.suffix.lower() not in DATABASES:
        if path.is_char_device():  # such as /dev/zero, which never ends
            raise InvalidValueError(f"{text} is a device; give a file.")
        try:
            return stack.enter_context(open(path, encoding="utf-8-sig", newline="")), text
        except (OSError, ValueError) as error:  # a name with a null character is none
            reason = getattr(error, "strerror", None) or error
            raise InvalidValueError(f"{text} cannot be read: {reason}; give another file.") from None
    copy = study_copy(text if "://" in text else f"sqlite:///{path.absolute()}", name)
    return table_lines(copy.study.history, records(copy.study.history, copy.times)), f"study {copy.name!r}"
