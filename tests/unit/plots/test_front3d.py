"""The front in three dimensions."""

from __future__ import annotations

import pytest
from tests.pictures import study_of_three_objectives

from flexibo import Study, plots
from flexibo.errors import InvalidValueError


def test_three_objectives_are_drawn_in_space_and_other_numbers_refused(study: Study) -> None:
    ax = plots.front3d(study_of_three_objectives())
    assert [ax.get_xlabel(), ax.get_ylabel(), ax.get_zlabel()] == [
        "a [J] (lower is better)",
        "b [W] (higher is better)",
        "c (lower is better)",
    ]
    with pytest.raises(InvalidValueError, match="shows three objectives; the study has 2"):
        plots.front3d(study)
    assert [name for name, picture in plots.PICTURES.items() if not picture.suits(study)] == ["front3d"]
    assert [name for name, picture in plots.PICTURES.items() if not picture.suits(study_of_three_objectives())] == [
        "front"
    ]
