"""Options that name a stored study."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from flexibo.cli._completion import study_names
from flexibo.cli._storage import VARIABLE, storage_url

__all__ = ["VARIABLE", "JSONFlag", "StorageURL", "StudyName", "storage_url"]

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
    str,
    typer.Option(
        "--name",
        help="The study, where the storage holds several.",
        show_default=False,
        autocompletion=study_names,
    ),
]
JSONFlag: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
