"""What a history derives from its events."""

from __future__ import annotations

from flexibo import Objective, Space, Study

SPACE = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})


def test_what_is_measured_together_is_not_paid_again_if_it_came_in_pieces() -> None:
    objectives = [Objective("a"), Objective("b", measured_with="a"), Objective("c")]
    study = Study(SPACE, objectives, n_initial=1)
    design = SPACE.design({"x": 0.5, "y": 0.5})
    study.add(design, {"b": 2.0})
    assert not study.history.is_measured(0, design)
    study.add(design, {"a": 1.0})
    assert study.history.is_measured(0, design)
    assert study.history.is_closed(0, design)
    assert not study.history.is_measured(1, design)
