"""The front, two objectives at a time."""

from __future__ import annotations

from tests.pictures import study_of_three_objectives

from flexibo import plots


def test_pairs_has_a_panel_for_every_two_objectives() -> None:
    panels = plots.pairs(study_of_three_objectives())
    assert panels.shape == (2, 2)
    assert panels[0, 1] is None
    assert panels[1, 0].get_xlabel().startswith("a [J] (lower ")
    assert panels[1, 0].get_ylabel().startswith("c (lower ")
    assert panels[1, 0].get_xscale() == "log"
    assert panels[1, 1].get_xlabel().startswith("b [W] (higher ")
