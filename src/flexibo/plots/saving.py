"""Pictures in files: which there are, and how they are written."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flexibo.errors import InvalidValueError, unknown_name
from flexibo.plots._front import front
from flexibo.plots._front3d import front3d
from flexibo.plots._importance import importance
from flexibo.plots._pairs import pairs
from flexibo.plots._parallel import parallel
from flexibo.plots._slices import most_important, slices
from flexibo.plots._trace import hypervolume, region
from flexibo.plots.counts import evaluations
from flexibo.plots.gain import gains
from flexibo.plots.html import write_html
from flexibo.plots.mark import metadata
from flexibo.study import Study
from flexibo.views import slice_view

FORMATS = (".png", ".pdf", ".svg", ".html")
"""What a picture can be written as, by the end of the file's name."""
DOTS_PER_INCH = 150


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a study.

    Attributes:
        summary: What it shows, in a line.
        draw: Draws it with matplotlib; returns axes, or an array of them.
        least: The least number of optimised objectives that it can show.
        most: The greatest.
    """

    summary: str
    draw: Callable[[Study], Any]
    least: int = 1
    most: float = math.inf

    def suits(self, study: Study) -> bool:
        """Whether it can show a study with so many objectives."""
        return self.least <= len(study.history.optimised) <= self.most


PICTURES: Mapping[str, Picture] = {
    "front": Picture("The front of two objectives, and the Pareto region around it.", front, most=2),
    "pairs": Picture("The front of several objectives, two at a time.", pairs),
    "front3d": Picture("The front of three objectives in space.", front3d, least=3, most=3),
    "hypervolume": Picture("What the measured designs dominate, against cost.", hypervolume),
    "region": Picture("What is still unsure about the front, against cost.", region),
    "evaluations": Picture("How often each objective was measured, against cost.", evaluations),
    "gains": Picture("What each choice was expected to bring per cost.", gains),
    "importance": Picture("How much each option matters to each objective.", importance),
    "parallel": Picture("Designs across all options and objectives.", parallel),
    "slices": Picture("What a surrogate thinks along the options that matter most.", slices),
}
"""The pictures by name."""


def save(study: Study, path: str | Path, picture: str | None = None) -> None:
    """Write a picture of a study; the end of the file's name decides how: .png, .pdf, .svg, or .html.

    Args:
        study: The study.
        path: Where to write it; a file that is there is replaced.
        picture: One of `PICTURES`; by default the front, and in a page (.html) all that show the study as a whole.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise InvalidValueError(f"{path} is no picture; give a name that ends in {', '.join(FORMATS)}.")
    if picture is not None and picture not in PICTURES:
        raise unknown_name("picture", picture, PICTURES)
    if path.suffix.lower() == ".html":
        _save_page(study, path, picture)
        return
    drawn = PICTURES[picture or ("front" if PICTURES["front"].suits(study) else "pairs")].draw(study)
    figure = next(ax for ax in np.ravel(np.array([drawn], dtype=object)) if ax is not None).figure
    with warnings.catch_warnings():
        # A name in a script that matplotlib's font does not have is drawn as boxes, and that is all.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        try:
            figure.savefig(path, dpi=DOTS_PER_INCH, metadata=metadata(path.suffix))
        except OSError as error:
            reason = error.strerror or str(error)
            raise InvalidValueError(
                f"{path} cannot be written: {reason}; give a file in a folder that exists."
            ) from None


def _save_page(study: Study, path: Path, picture: str | None) -> None:
    """Write a page with one picture, or with all that show the study as a whole."""
    if picture == "slices":
        objective = study.objectives[0].name
        write_html(study, path, [slice_view(study, objective, *most_important(study, objective)[:2])])
    else:
        write_html(study, path, None if picture is None else [picture])
