"""Parallel coordinates: axes, categories, and lines."""

from __future__ import annotations

from tests.strict_json import strict_json

from flexibo import Objective, Space, Study
from flexibo.views import parallel_view


def test_parallel_lines_follow_the_points_and_name_categories() -> None:
    space = Space(
        {"mode": ["on", "off"], "level": (0.0, 1.0), "n": [1, 10, 100], "odd": [1, "1"]},
        conditions={"level": {"mode": ["on"]}},
    )
    study = Study(space, [Objective("a", "max", unit="W"), Objective("b")], n_initial=1, seed=0)
    study.add({"mode": "on", "level": 0.5, "n": 10, "odd": "1"}, {"a": 1.0, "b": 1.0})
    study.add({"mode": "off", "n": 1, "odd": 1}, {"a": 0.5, "b": 2.0})
    view = strict_json(parallel_view(study))
    assert [(axis["name"], axis["type"], axis["categories"], axis["role"], axis["log"]) for axis in view["axes"]] == [
        ("mode", "category", ["on", "off"], "option", False),
        ("level", "number", None, "option", False),
        ("n", "number", None, "option", True),
        ("odd", "category", ["1", "'1'"], "option", False),
        ("a", "number", None, "objective", False),
        ("b", "number", None, "objective", False),
    ]
    assert view["axes"][4]["label"] == "a [W]"
    assert view["lines"] == [
        {"kind": "front-confirmed", "values": ["on", 0.5, 10.0, "'1'", 1.0, 1.0]},
        {"kind": "measured", "values": ["off", None, 1.0, "1", 0.5, 2.0]},
    ]
