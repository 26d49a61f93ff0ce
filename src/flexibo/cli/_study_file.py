"""Study files on the command line: telling them from systems, and finding the one of a stored study."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from flexibo.cli._options import StudyOptions
from flexibo.cli._storage import storage_url, stored_origin
from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.history.events import Noted
from flexibo.study import Study
from flexibo.study.stored import stored_study
from flexibo.studyfile import StudyFile, has_changed, is_from_file, read_study_file, stored_file
from flexibo.systems.catalogue import SYSTEMS
from flexibo.systems.recorded import recordings

SUFFIXES = (".yaml", ".yml")


def is_study_file(what: str) -> bool:
    """Whether the argument of ``flexibo run`` names a file; the name of a system never does.

    >>> is_study_file("study.yaml"), is_study_file("lenet")
    (True, False)
    """
    if what in SYSTEMS:
        return False
    path = Path(what)
    return path.suffix.lower() in SUFFIXES or len(path.parts) > 1 or path.is_file()


def check_is_system(name: str) -> None:
    """Refuse what is neither the name of a system nor an existing file."""
    if name in SYSTEMS:
        return
    if name in recordings():
        raise InvalidValueError(f"{name!r} is a recorded table; add --recorded to replay it.")
    files = sorted(path.name for path in Path().glob("*") if path.suffix in SUFFIXES)
    names = [*SYSTEMS, *files, *(Path(file).stem for file in files)]
    near = next(iter(difflib.get_close_matches(name.lower(), names, n=1)), "")
    near = next((file for file in files if Path(file).stem == near), near)
    hint = f"; did you mean {near!r}?" if near else "."
    here = f"Study files here: {', '.join(files[:5])}." if files else "No study file is here; flexibo init writes one."
    raise UnknownNameError(f"{name!r} is neither a study file nor a system{hint} Systems: {', '.join(SYSTEMS)}. {here}")


@dataclass(frozen=True, slots=True)
class JoinedStudy:
    """A stored study, and the file whose functions and commands measure for it.

    Attributes:
        study: The study.
        file: The file.
        url: Where the study is stored.
    """

    study: Study
    file: StudyFile
    url: str


def join_study(given: StudyOptions, file: Path | None) -> JoinedStudy | None:
    """The stored study, and the file that the user names or that it was created from; None if it has none."""
    lease = given.lease_seconds
    if file is not None:
        found = read_study_file(file)
        url = chosen_storage(found, given)
        return JoinedStudy(found.joined(url, given.name or found.name, lease=lease), found, url)
    url = storage_url(given.storage)
    name = stored_study(url, given.name or None)[1]
    origin = stored_origin(url, name)
    if not is_from_file(origin):
        return None
    found = stored_file(origin, name)
    return JoinedStudy(found.joined(url, name, lease=lease), found, url)


def chosen_storage(file: StudyFile, given: StudyOptions) -> str:
    """Where the study of a file is stored: as typed, as in the file, as in the environment, or beside the file."""
    return given.storage if given.storage and (given.is_storage_typed or not file.names_storage) else file.storage


def note_change(study: Study, file: StudyFile) -> str:
    """Note once in the study that its file has changed, and return a message; empty if it has not."""
    if not has_changed(file, study.history.origin):
        return ""
    text = f"{file.path.name} has changed since the study was begun (its SHA-256 is now {file.source.digest[:12]})."
    if not any(isinstance(event, Noted) and event.text == text for event in study.events):
        study.note(text)
    return f"{text} Its options and objectives are the same; the study has a note of it."
