"""The settings of a stored study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.study.small_studies import LINE, SPACE, line, opened

from flexibo import Objective, Real, Space, Study
from flexibo.errors import InvalidValueError, SettingsDifferError
from flexibo.storage import MemoryStorage
from flexibo.surrogates import GaussianProcess

Make = Callable[..., Study]

PLANE = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})


def test_a_stored_study_with_the_methods_own_choices_says_so(tmp_path: object) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    Study(PLANE, ["a", "b"], storage=url, seed=0)
    with pytest.raises(SettingsDifferError, match=r"cost.*'sqrt'"):
        Study(PLANE, ["a", "b"], storage=url, seed=0, cost="sqrt")
    with pytest.raises(SettingsDifferError, match=r"surrogate.*'rf'"):
        Study(PLANE, ["a", "b"], storage=url, seed=0, surrogate="rf")


def test_a_budget_below_the_initial_designs_is_refused_when_costs_are_known(space: Space) -> None:
    objectives = [Objective("a", cost=10), Objective("b", cost=1)]
    with pytest.raises(InvalidValueError, match=r"budget is 100,.* 10 initial designs .* 110;.* n_initial"):
        Study(space, objectives, budget=100, n_initial=10)
    with pytest.raises(InvalidValueError, match=r"budget is 21,.* 2 initial designs .* 22;"):
        Study(space, objectives, budget=21)
    uneven = [Objective("a", cost=50.00015), Objective("b", cost=1.1)]
    with pytest.raises(InvalidValueError, match=r"2 initial designs .* 102\.3;"):
        Study(space, uneven, budget=102.2)
    Study(space, uneven, budget=102.3)


def test_a_study_stored_without_the_kind_of_its_start_measures_complete_designs(space: Space) -> None:
    storage = MemoryStorage()
    Study(space, ["a", "b"], storage=storage, seed=0, n_initial=4)
    first, *others = storage.read()
    older = MemoryStorage()
    settings = {name: value for name, value in first["settings"].items() if name != "full_start"}
    older.commit(0, lambda _: [{**first, "settings": settings}, *others])
    again = Study(space, ["a", "b"], storage=older)
    assert again.settings.full_start
    assert len(again.settings.initial_designs) == 4


def test_the_start_of_a_stored_study_stays_what_it_was(space: Space) -> None:
    storage = MemoryStorage()
    before = Study(space, ["a", "b"], storage=storage, seed=0).settings
    assert not before.full_start
    assert Study(space, ["a", "b"], storage=storage).settings == before
    with pytest.raises(InvalidValueError, match=r"20 other initial designs.*n_initial"):
        Study(space, ["a", "b"], storage=storage, n_initial=10)


def test_other_settings_than_the_stored_ones_are_refused(make_study: Make, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    make_study(storage=url)
    with pytest.raises(InvalidValueError, match="seed 0; 1 "):
        make_study(storage=url, seed=1)
    with pytest.raises(InvalidValueError, match="method 'flexibo'; 'random' "):
        make_study(storage=url, method="random")


def test_another_space_under_the_same_name_is_called_so() -> None:
    storage = MemoryStorage()
    opened(storage)
    with pytest.raises(InvalidValueError, match=r"'study'.*space.*lr"):
        Study({"lr": (0.0, 1.0)}, ["a", "b"], storage=storage)
    with pytest.raises(InvalidValueError, match=r"'study'.*objectives.*noisy of 'a'"):
        Study(SPACE, [Objective("a", noisy=True), "b"], storage=storage)
    changed = [Objective("a", unit="s", timeout=9, resources={"GPU": 1}), "b"]
    assert Study(SPACE, changed, storage=storage).objectives[0].timeout == 9


def test_a_study_with_a_surrogate_object_can_be_opened_again() -> None:
    class Own:
        def fit(self, *args: Any, **settings: Any) -> GaussianProcess:
            return GaussianProcess().fit(*args, **settings)

    storage = MemoryStorage()
    line(storage=storage, surrogate=Own(), budget=10).run(LINE)
    again = line(storage=storage, surrogate=Own())
    assert again.spent == 10


def test_opening_a_study_with_another_space_names_the_option() -> None:
    storage = MemoryStorage()
    line(storage=storage)
    with pytest.raises(InvalidValueError, match=r"another space \(see x: stored 0 to 1; given 0 to 2\)"):
        Study({"x": (0.0, 2.0)}, ["a", "b"], seed=0, n_initial=3, candidates=60, storage=storage)


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"n_initial": 0}, "n_initial is 0;.* 1 "),
        ({"candidates": 0}, "candidates is 0;.* 1 "),
        ({"candidates": -5}, "candidates is -5;.* 1 "),
        ({"delta": 1.5}, r"delta is 1\.5;.* 0 .* 1\b"),
        ({"seed": -1}, "seed is -1;.* 0 "),
        ({"initial_designs": [{"filters": 17}]}, "'filters'.* 17"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value(make_study: Make, settings: dict[str, Any], facts: str) -> None:
    with pytest.raises(InvalidValueError, match=facts):
        make_study(**settings)


def test_a_wide_range_keeps_the_scale_that_the_study_began_with(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    Study({"rate": Real(1e-5, 0.1, log=False), "n": (1, 9)}, ["a", "b"], storage=url, seed=0)  # as versions before 0.2
    again = Study({"n": (1, 9), "rate": (1e-5, 0.1)}, ["a", "b"], storage=url)
    assert again.space.options["rate"] == Real(1e-5, 0.1, log=False)
    with pytest.raises(SettingsDifferError, match=r"rate: stored 1e-05 to 0\.1; given 1e-05 to 0\.1 \(log\)"):
        Study({"rate": Real(1e-5, 0.1, log=True), "n": (1, 9)}, ["a", "b"], storage=url)
    with pytest.raises(SettingsDifferError, match="rate"):
        Study({"rate": (1e-4, 0.1), "n": (1, 9)}, ["a", "b"], storage=url)
