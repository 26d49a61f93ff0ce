"""Pictures in files: the table of pictures, writing them, and recognising files that flexibo drew."""

from __future__ import annotations

import math
import struct
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flexibo import __version__
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.plots._curves import curves
from flexibo.plots._front import front, front3d, pairs
from flexibo.plots._parallel import parallel
from flexibo.plots._slices import importance, most_important, slices
from flexibo.plots._trace import evaluations, gains, hypervolume, region
from flexibo.plots.html import write_html
from flexibo.study import Study
from flexibo.views import slice_view

FORMATS = (".png", ".pdf", ".svg", ".html")  # the file formats of pictures, by suffix
DOTS_PER_INCH = 150
PROGRAM = "flexibo"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
HEAD_BYTES = 65536  # how much of a file is read to recognise it; the metadata is near the beginning


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a study."""

    summary: str  # one line
    draw: Callable[[Study], Any]  # with matplotlib; returns axes, or an array of them
    least: int = 1  # number of optimised objectives that it can show
    most: float = math.inf
    of_steps: bool = False  # whether it shows an objective with steps

    def suits(self, study: Study) -> bool:
        """Whether it can show a study with these objectives."""
        has_steps = any(objective.stops for objective in study.objectives)
        return self.least <= len(study.history.optimised) <= self.most and (has_steps or not self.of_steps)


PICTURES: Mapping[str, Picture] = {
    "front": Picture("The front of two objectives, and the Pareto region around it.", front, most=2),
    "pairs": Picture("The front of several objectives, two at a time.", pairs),
    "front3d": Picture("The front of three objectives in three dimensions.", front3d, least=3, most=3),
    "hypervolume": Picture("The hypervolume of the measured designs, against cost.", hypervolume),
    "region": Picture("The volume of the Pareto region, against cost.", region),
    "evaluations": Picture("The number of evaluations of each objective, against cost.", evaluations),
    "gains": Picture("The expected gain per cost of each evaluation, against cost.", gains),
    "curves": Picture("The learning curves of designs, of an objective with steps.", curves, of_steps=True),
    "importance": Picture("The importance of each option for each objective.", importance),
    "parallel": Picture("Designs across all options and objectives.", parallel),
    "slices": Picture("The prediction of an objective along the most important options.", slices),
}


def save(study: Study, path: str | Path, picture: str | None = None) -> None:
    """Write a picture of a study; the suffix of the file decides the format: .png, .pdf, .svg, or .html.

    Args:
        study: The study.
        path: The file; an existing one is replaced.
        picture: One of `PICTURES`; by default the front, and for .html a page that shows the whole study.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InvalidValueError(f"{path} is not the name of a picture; give a name that ends in {', '.join(FORMATS)}.")
    if picture is not None and picture not in PICTURES:
        raise unknown_name("picture", picture, PICTURES)
    if path.suffix.lower() == ".html":
        _save_page(study, path, picture)
        return
    drawn = PICTURES[picture or ("front" if PICTURES["front"].suits(study) else "pairs")].draw(study)
    figure = next(ax for ax in np.ravel(np.array([drawn], dtype=object)) if ax is not None).figure
    with warnings.catch_warnings():
        # Characters that matplotlib's font lacks are drawn as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        try:
            figure.savefig(path, dpi=DOTS_PER_INCH, metadata=_metadata(path.suffix))
        except OSError as error:
            reason = error.strerror or str(error)
            raise InvalidValueError(
                f"{path} cannot be written: {reason}; give a file in a folder that exists."
            ) from None


def _save_page(study: Study, path: Path, picture: str | None) -> None:
    """Write a page with one picture, or with all that show the whole study."""
    if picture == "slices":
        objective = study.objectives[0].name
        write_html(study, path, [slice_view(study, objective, *most_important(study, objective)[:2])])
    else:
        write_html(study, path, None if picture is None else [picture])


def is_drawn_by_flexibo(path: Path) -> bool:
    """Whether a file is a PNG picture that flexibo drew, according to its metadata; False if it cannot be read."""
    try:
        if not path.is_file():  # reading from a pipe or a device might block
            return False
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return False
    mark = f"Software\0{PROGRAM} ".encode()
    return any(kind == b"tEXt" and data.startswith(mark) for kind, data in _png_chunks(head))


def _metadata(suffix: str) -> dict[str, str]:
    """The metadata of a picture, which names the program that drew it."""
    return {"Software" if suffix.lower() == ".png" else "Creator": f"{PROGRAM} {__version__}"}


def _png_chunks(head: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The kind and the data of each chunk in the first bytes of a PNG file."""
    if not head.startswith(PNG_SIGNATURE):
        return
    place = len(PNG_SIGNATURE)
    while place + 8 <= len(head):
        length, kind = struct.unpack(">I4s", head[place : place + 8])
        yield kind, head[place + 8 : place + 8 + length]
        place += length + 12  # length, kind and checksum
