"""The picture that ``flexibo run`` and ``flexibo resume`` leave behind: named after the study, never over another's."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from flexibo.study import Study
    from flexibo.studyfile import StudyFile


@dataclass(frozen=True, slots=True)
class Picture:
    """Where the front is drawn.

    Attributes:
        path: The file.
        is_typed: Whether the user named it, so that whatever is there is replaced.
    """

    path: Path
    is_typed: bool = False


def chosen_picture(out: Path | None) -> Picture | None:
    """The picture that was typed, which must be one that can be saved; None where none was."""
    from flexibo.cli._measure import checked_picture

    return None if out is None else Picture(checked_picture(out), is_typed=True)


def picture_beside(file: StudyFile, study: str) -> Path:
    """Where the front of a study is drawn: NAME.png beside the file, in the working folder's terms."""
    from flexibo.studyfile.file import file_stem

    path = file.path.with_name(f"{file_stem(study)}.png")
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def draw_front(study: Study, picture: Picture, console: Console) -> None:
    """Draw the front, if there is one, and say so; a file that flexibo did not draw is never replaced unasked."""
    from flexibo.cli import _show
    from flexibo.errors import InvalidValueError
    from flexibo.plots.saving import is_drawn_by_flexibo

    if not study.front():
        return
    if picture.is_typed:
        _show.save_picture(study, picture.path, console)
        return
    if os.path.lexists(picture.path) and not is_drawn_by_flexibo(picture.path):
        console.print(
            f"No picture: {picture.path} is there, and flexibo did not draw it. Draw another one with: flexibo front "
            "--out FILE.png",
            markup=False,
            highlight=False,
        )
        return
    try:
        _show.save_picture(study, picture.path, console)
    except InvalidValueError as error:  # what was measured matters more
        console.print(f"No picture: {error}", markup=False, highlight=False)
