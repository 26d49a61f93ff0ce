"""Where studies are kept, if nobody says so."""

from __future__ import annotations

from pathlib import Path

VARIABLE = "FLEXIBO_STORAGE"


def storage_url(given: str, *, folder: Path = Path()) -> str:
    """The storage that was given, or the only database file of the folder."""
    from flexibo.errors import InvalidValueError

    if given:
        return given
    files = sorted(path.name for path in folder.glob("*.db") if path.is_file())
    if len(files) == 1:
        return f"sqlite:///{folder / files[0]}"
    if not files:
        raise InvalidValueError(
            "No storage was named, and there is no .db file here; begin with flexibo init or flexibo run, give one "
            f"such as --storage sqlite:///FILE, or set {VARIABLE}."
        )
    found = f"there are {', '.join(files[:4])}{', ...' if len(files) > 4 else ''} here"
    raise InvalidValueError(
        f"No storage was named ({found}); give one such as --storage sqlite:///{files[0]}, or set {VARIABLE}."
    )
