"""The picture that ``flexibo run`` and ``flexibo resume`` save: named after the study, never over another file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from flexibo import plots
from flexibo.errors import InvalidValueError, MissingExtraError
from flexibo.plots.saving import is_drawn_by_flexibo
from flexibo.study import Study
from flexibo.studyfile import StudyFile
from flexibo.studyfile.file import file_stem


@dataclass(frozen=True, slots=True)
class PictureFile:
    """Where the front is drawn.

    Attributes:
        path: The file.
        is_typed: Whether the user named it, so that an existing file is replaced.
    """

    path: Path
    is_typed: bool = False


def typed_picture(out: Path | None) -> PictureFile | None:
    """The picture that was typed, which must be one that can be saved; None if none was."""
    if out is None:
        return None
    if out.suffix not in (".png", ".pdf", ".svg") or out.is_dir() or not out.absolute().parent.is_dir():
        raise InvalidValueError(f"--out is {out}; give a .png, .pdf or .svg file in a folder that exists.")
    return PictureFile(out, is_typed=True)


def picture_beside(file: StudyFile, study: str) -> PictureFile:
    """NAME.png beside the study file, relative to the working folder where possible."""
    path = file.path.with_name(f"{file_stem(study)}.png")
    return PictureFile(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def draw_front(study: Study, picture: PictureFile, console: Console) -> None:
    """Draw the front, if there is one; a file that flexibo did not draw is replaced only if it was typed."""
    if not study.front():
        return
    if picture.is_typed:
        save_picture(study, picture.path, console)
        return
    if os.path.lexists(picture.path) and not is_drawn_by_flexibo(picture.path):
        _print(
            console,
            f"No picture: {picture.path} exists and was not drawn by flexibo. Draw another one with: flexibo front "
            "--out FILE.png",
        )
        return
    try:
        save_picture(study, picture.path, console)
    except InvalidValueError as error:  # the measurements matter more
        _print(console, f"No picture: {error}")


def save_picture(study: Study, out: Path, console: Console) -> None:
    """Draw the front into a file; a missing matplotlib is a message, not an error."""
    try:
        plots.save(study, out)
    except MissingExtraError as error:
        _print(console, f"No picture: {error}")
        return
    _print(console, f"The Pareto front and region are drawn in {out}.")


def _print(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False)
