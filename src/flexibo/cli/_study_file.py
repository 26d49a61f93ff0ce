"""Study files on the command line: telling them from systems, and finding the one of a stored study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from flexibo.cli._storage_options import storage_url

if TYPE_CHECKING:
    from flexibo.study import Study
    from flexibo.studyfile import StudyFile

SUFFIXES = (".yaml", ".yml")
StudyFilePath: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--file",
        help="The study file whose functions and commands measure; by default the one that the study was begun from, "
        "if it has not changed.",
        show_default=False,
    ),
]


def is_study_file(what: str) -> bool:
    """Whether the argument of ``flexibo run`` names a file; the name of a system never does.

    >>> is_study_file("study.yaml"), is_study_file("lenet")
    (True, False)
    """
    from flexibo.systems.catalogue import SYSTEMS

    if what in SYSTEMS:
        return False
    path = Path(what)
    return path.suffix.lower() in SUFFIXES or len(path.parts) > 1 or path.is_file()


def check_is_system(name: str) -> None:
    """Refuse what is neither the name of a system nor a file that is there."""
    from flexibo.errors import InvalidValueError, UnknownNameError
    from flexibo.systems.catalogue import SYSTEMS
    from flexibo.systems.recorded import recordings

    if name in SYSTEMS:
        return
    if name in recordings():
        raise InvalidValueError(f"{name!r} is a recorded table; add --recorded to have it answer.")
    files = sorted(path.name for path in Path().glob("*") if path.suffix in SUFFIXES)
    hint = _nearest(name, [*SYSTEMS, *files, *(Path(file).stem for file in files)])
    hint = next((file for file in files if Path(file).stem == hint), hint)
    here = (
        f"study files here: {', '.join(files[:5])}" if files else "there is no study file here; flexibo init writes one"
    )
    raise UnknownNameError(
        f"{name!r} is neither a study file nor a system{f'; did you mean {hint!r}?' if hint else ';'} Systems: "
        f"{', '.join(SYSTEMS)}; {here}."
    )


def _nearest(name: str, known: list[str]) -> str:
    import difflib

    return next(iter(difflib.get_close_matches(name.lower(), known, n=1)), "")


@dataclass(frozen=True, slots=True)
class Joined:
    """A stored study, and the file whose functions and commands measure for it.

    Attributes:
        study: The study.
        file: The file.
        url: Where the study is kept.
    """

    study: Study
    file: StudyFile
    url: str


def joined(storage: str, name: str, file: Path | None, *, lease: float | None, storage_typed: bool) -> Joined | None:
    """The stored study, and the file that the user names or that it was begun from; None if it has none.

    Args:
        storage: Where the study is kept, as typed or as the environment says.
        name: Its name; empty where there is only one, or as the file says.
        file: The file that the user names.
        lease: How long a sign of life lasts; None: as the file says.
        storage_typed: Whether the storage was typed.
    """
    from flexibo.study.stored import stored_study
    from flexibo.studyfile import is_from_file, read_study_file, stored_file

    if file is not None:
        found = read_study_file(file)
        url, name = chosen_storage(found, storage, typed=storage_typed), name or found.name
        return Joined(found.joined(url, name, lease=lease), found, url)
    url = storage_url(storage)
    name = stored_study(url, name or None)[1]
    origin = origin_of(url, name)
    if not is_from_file(origin):
        return None
    found = stored_file(origin, name)
    return Joined(found.joined(url, name, lease=lease), found, url)


def is_typed(context: typer.Context, name: str) -> bool:
    """Whether an option was typed, rather than left at its default or found in the environment."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def chosen_storage(file: StudyFile, given: str, *, typed: bool) -> str:
    """Where the study of a file is kept: as typed, else as the file says, else as the environment says, else beside it.

    Args:
        file: The study file.
        given: What was typed, or what the environment says; empty for neither.
        typed: Whether it was typed.
    """
    return given if given and (typed or not file.names_storage) else file.storage


def origin_of(url: str, name: str) -> Mapping[str, Any]:
    """What is stored with a study to say where its functions come from."""
    from flexibo.storage import open_storage

    found = open_storage(url, name, create=False).read()[0].get("origin", {})
    return found if isinstance(found, Mapping) else {}


def note_change(study: Study, file: StudyFile) -> str:
    """Write down, once, that the file of a study has changed, and say so; empty if it has not."""
    from flexibo.history.events import Noted
    from flexibo.studyfile import has_changed

    if not has_changed(file, study.history.origin):
        return ""
    text = f"{file.path.name} has changed since the study was begun (its SHA-256 is now {file.source.digest[:12]})."
    if not any(isinstance(event, Noted) and event.text == text for event in study.events):
        study.note(text)
    return f"{text} Its options and objectives are the same; the study has a note of it."
