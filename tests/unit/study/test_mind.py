"""Tests of the method and models that follow the settings of a study."""

from __future__ import annotations

import contextlib

from flexibo import Study
from flexibo.storage import MemoryStorage


def test_the_optimizer_is_made_once_until_the_settings_change() -> None:
    storage = MemoryStorage()
    one, other = (Study({"x": (0.0, 1.0)}, ["a", "b"], seed=0, storage=storage) for _ in range(2))
    before = one._mind.optimizer
    one.note("nothing")
    one.budget = 5
    assert one._mind.optimizer is before
    other.change(method="random")
    one.refresh()
    assert one._mind.optimizer is not before
    assert one.method.name == "random"
    assert not one._mind.outdated()


def test_what_is_not_stored_is_kept_only_if_the_change_is_made() -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], seed=0)
    with contextlib.suppress(ValueError):
        study.change(cost=lambda design, name: 1.0, method="nope")
    assert study._mind.cost is None
    assert study.settings.cost == ""
