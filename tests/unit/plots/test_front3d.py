"""The front in three dimensions."""

from __future__ import annotations

import pytest
from tests.pictures import study_of_three_objectives

from flexibo import Study, plots
from flexibo.errors import InvalidValueError


def test_three_objectives_are_drawn_in_space_and_other_numbers_refused(study: Study) -> None:
    ax = plots.front3d(study_of_three_objectives())
    labels = (ax.get_xlabel(), ax.get_ylabel(), ax.get_zlabel())
    for label, start in zip(labels, ("a [J] (lower ", "b [W] (higher ", "c (lower "), strict=True):
        assert label.startswith(start)
    with pytest.raises(InvalidValueError, match=r"three objectives.* 2\b"):
        plots.front3d(study)
    unsuitable = [
        [name for name, picture in plots.PICTURES.items() if not picture.suits(one)]
        for one in (study, study_of_three_objectives())
    ]
    assert unsuitable == [["front3d", "curves"], ["front", "curves"]]
