"""Where studies are stored: the storage to use by default, and what a storage holds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexibo.errors import InvalidValueError
from flexibo.storage import open_storage, shown_url, stored_studies

if TYPE_CHECKING:
    from flexibo.study import Study

STORAGE_VARIABLE = "FLEXIBO_STORAGE"


def storage_url(given: str, *, folder: Path = Path()) -> str:
    """The storage that was given, or the only database file in the folder that is no backup."""
    if given:
        return given
    files = sorted(path.name for path in folder.glob("*.db") if path.is_file())
    if len(files) > 1:
        from flexibo.storage.backup import is_backup

        files = [name for name in files if not is_backup(folder / name)] or files
    if len(files) == 1:
        return f"sqlite:///{folder / files[0]}"
    if not files:
        raise InvalidValueError(
            "No storage was given, and there is no .db file here; create a study with flexibo init or flexibo run, "
            f"give --storage sqlite:///FILE, or set {STORAGE_VARIABLE}."
        )
    raise InvalidValueError(
        f"Several .db files are here: {', '.join(files[:10])}{', ...' if len(files) > 10 else ''}; choose one, as in "
        f"--storage sqlite:///{folder / files[0]}, or set {STORAGE_VARIABLE}."
    )


def short_url(url: str) -> str:
    """A storage URL for people: without a password, and relative to the working folder where possible."""
    scheme, sign, path = url.partition(":///")
    here = f"{Path.cwd()}/"
    if scheme.startswith("sqlite") and sign and path.startswith(here):
        return f"{scheme}:///{path.removeprefix(here)}"
    return shown_url(url)


def short_path(path: Path) -> Path:
    """A path relative to the working folder, if it is in it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def has_password(url: str) -> bool:
    """Whether a storage URL must not be printed as it is."""
    return shown_url(url) != url


def shown_words(words: Sequence[str]) -> list[str]:
    """The words of a command as they can be shown: without passwords.

    >>> shown_words(["--storage=postgresql://ada:secret@board/studies", "a b"])
    ['--storage=postgresql://ada:***@board/studies', 'a b']
    """
    found = []
    for word in words:
        option, sign, value = word.partition("=") if word.startswith("--storage=") else ("", "", word)
        found.append(f"{option}{sign}{shown_url(value) if '://' in value else value}")
    return found


def is_stored(url: str, name: str) -> bool:
    """Whether the study, or any study if the name is empty, exists; a database that cannot be used is an error."""
    scheme, _, path = url.partition(":///")
    if scheme.startswith("sqlite") and not os.path.exists(Path(path).expanduser()):
        return False
    found = [study.name for study in stored_studies(url)]
    return name in found if name else bool(found)


def stored_origin(url: str, name: str) -> Mapping[str, Any]:
    """What is stored with a study about where its functions come from."""
    events = open_storage(url, name, create=False).read()
    found = [event.get("origin") for event in events if event.get("event") in ("created", "changed")]
    return next((origin for origin in reversed(found) if isinstance(origin, Mapping) and origin), {})


def load_study(url: str, name: str, *, worker: str = "", lease: float, checkpoints: str = "") -> Study:
    """The stored study, or the only one, if all that it needs to continue is stored; a `worker` claims by hand."""
    from flexibo.study import Study
    from flexibo.study.stored import stored_study
    from flexibo.transfer import not_stored

    storage, found, settings = stored_study(url, name or None)
    if missing := not_stored(settings):
        raise InvalidValueError(
            f"Study {found!r} has a custom {' and a custom '.join(missing)}, which is only in the program that created "
            f"it; continue there, with Study.load({shown_url(url)!r}, {found!r}, ...).run(...)."
        )
    return Study.load(storage, found, detached_worker=worker, lease=lease, checkpoints=checkpoints or None)
