"""Options that name a stored study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

VARIABLE = "FLEXIBO_STORAGE"
StorageURL: TypeAlias = Annotated[
    str,
    typer.Option(
        "--storage",
        help="Where studies are kept: sqlite:///FILE or postgresql://USER@HOST/DATABASE. "
        "By default the only .db file of this folder.",
        envvar=VARIABLE,
        show_envvar=True,
        show_default=False,
    ),
]
StudyName: TypeAlias = Annotated[
    str, typer.Option("--name", help="The study, where the storage holds several.", show_default=False)
]
JSONFlag: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]


def storage_url(given: str, *, folder: Path = Path()) -> str:
    """The storage that was given, or the only database file of the folder."""
    from flexibo.errors import InvalidValueError

    if given:
        return given
    files = sorted(path.name for path in folder.glob("*.db") if path.is_file())
    if len(files) == 1:
        return f"sqlite:///{folder / files[0]}"
    found = f"there are {', '.join(files[:4])}{', ...' if len(files) > 4 else ''} here" if files else "there is no file"
    example = f"sqlite:///{files[0]}" if files else "sqlite:///FILE"
    raise InvalidValueError(f"No storage was named ({found}); give one such as --storage {example}, or set {VARIABLE}.")
