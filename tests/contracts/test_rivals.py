"""What every rival keeps that measures all objectives together; those that are not installed are skipped."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.comparisons import QUICK_SEARCH
from tests.unit.compare.rivals.small_settings import (
    MIXED,
    N_INITIAL,
    POOL,
    SQUARE,
    begun,
    installed,
    losses,
    measured,
    setting,
)

from flexibo import Design, Space
from flexibo._internal.arrays import plain
from flexibo.compare.rivals import RIVALS, _botorch_coupled
from flexibo.compare.rivals.library_rival import LibraryRival
from flexibo.errors import InvalidValueError
from flexibo.pareto import hypervolume

pytestmark = pytest.mark.rivals

QUICK = ["optuna-tpe", "optuna-nsga2", "pymoo-nsga2"]
CAREFUL = [*QUICK, "optuna-gp", "smac-parego"]
COUPLED = [name for name, entry in RIVALS.items() if not entry.decoupled]


def slow_if_slow(names: list[str]) -> list[Any]:
    """The names, those marked whose model takes a second or more to answer."""
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.fixture(autouse=True)
def little_effort(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """BoTorch and SMAC search as little as they can, except where what they find is judged."""
    if "smac-parego" in request.node.name and request.node.get_closest_marker("long") is None:
        installed("smac-parego")
        from smac import HyperparameterOptimizationFacade as Facade

        search, forest = Facade.get_acquisition_maximizer, Facade.get_model

        def small_forest(scenario: Any) -> Any:
            model = forest(scenario)
            model._rf_opts["max_leaf_nodes"] = 1000  # there are fewer designs; room for SMAC's million takes time
            return model

        def short_search(scenario: Any) -> Any:
            return search(scenario, challengers=100, local_search_iterations=2)

        monkeypatch.setattr(Facade, "get_model", staticmethod(small_forest))
        monkeypatch.setattr(Facade, "get_acquisition_maximizer", staticmethod(short_search))
    monkeypatch.setattr(_botorch_coupled, "SearchEffort", lambda: QUICK_SEARCH)


def with_each(names: list[str], quick: list[Any], slow: Any) -> list[Any]:
    """The names with each of some values; a slow model with one of them."""
    return [
        *((name, value) for name in names if name in QUICK for value in quick),
        *(pytest.param(name, slow, marks=pytest.mark.slow) for name in names if name not in QUICK),
    ]


def asks(name: str) -> int:
    """Enough to breed twice where that is quick; a slow model is asked twice."""
    return 20 if name in QUICK else 2


@pytest.mark.parametrize(("name", "n"), with_each(COUPLED, [2, 3], 3))
def test_a_rival_suggests_legal_designs_of_every_kind_of_option(name: str, n: int) -> None:
    given = setting(MIXED, n=n)
    rival, taken = begun(name, given)
    for suggestion, _ in measured(rival, given, taken, asks(name) if name in QUICK else 1):
        assert dict(suggestion.design) in MIXED
        assert suggestion.objectives == ()
    assert rival.front() is None
    assert getattr(rival, "fallbacks", 0) == 0


@pytest.mark.parametrize(("name", "noisy"), with_each(COUPLED, [False, True], True))
def test_a_rival_goes_on_when_other_designs_are_measured_than_it_suggests(name: str, noisy: bool) -> None:
    given = setting(POOL, noisy=noisy)
    rival, taken = begun(name, given)
    pairs = measured(rival, given, taken, asks(name))
    assert len({design for _, design in pairs}) == len(pairs)
    assert getattr(rival, "fallbacks", 0) == 0


@pytest.mark.parametrize("name", slow_if_slow(COUPLED))
def test_the_seed_decides_what_a_rival_suggests(name: str) -> None:
    def suggested(seed: int) -> list[dict[str, object]]:
        given = setting(SQUARE, seed=seed)
        rival, taken = begun(name, given)
        return [dict(suggestion.design) for suggestion, _ in measured(rival, given, taken, 3 if name in QUICK else 1)]

    np.random.seed(1)  # noqa: NPY002  # the global generator must not matter
    first = suggested(3)
    np.random.seed(2)  # noqa: NPY002
    assert suggested(3) == first
    if "botorch" not in name and name != "optuna-gp":  # their models may agree on the best design whatever the seed
        assert suggested(4) != first


Known = list[tuple[dict[str, object], list[float]]]


@pytest.mark.parametrize("name", slow_if_slow(CAREFUL))
def test_a_library_knows_what_was_measured_and_nothing_else(name: str) -> None:
    given = setting(POOL)
    rival, taken = begun(name, given)
    known = KNOWN[name.split("-")[0]](rival)
    pairs = measured(rival, given, taken, N_INITIAL if name in QUICK else asks(name))
    if name in QUICK:
        assert any(dict(suggestion.design) != dict(design) for suggestion, design in pairs)
        rival.ask()  # a generation is told when the next is bred
    initial = POOL.sample(N_INITIAL, np.random.default_rng(5))
    told = [(dict(design), list(losses(design).values())) for design in [*initial, *(design for _, design in pairs)]]
    assert sorted(known(), key=repr) == sorted(told, key=repr)


def _known_to_optuna(rival: Any) -> Callable[[], Known]:
    def known() -> Known:
        done = [trial for trial in rival.library._study.trials if trial.state.name == "COMPLETE"]
        return [({name: trial.params[name] for name in POOL.names}, trial.values) for trial in done]

    return known


def _known_to_smac(rival: Any) -> Callable[[], Known]:
    def known() -> Known:
        history = rival.library._smac.runhistory
        done = [(history.get_config(key.config_id), value) for key, value in history.items()]
        return [
            ({name: plain(found[name]) for name in POOL.names}, value.cost)
            for found, value in done
            if value.status.name == "SUCCESS"
        ]

    return known


def _known_to_pymoo(rival: Any) -> Callable[[], Known]:
    told: Known = []
    tell = rival.library._algorithm.tell

    def noted(infills: Any) -> Any:
        for member in infills:
            told.append((member.X | {"kind": "xyz"[member.X["kind"]]}, member.F.tolist()))
        return tell(infills=infills)

    rival.library._algorithm.tell = noted
    return lambda: told


KNOWN: dict[str, Callable[[Any], Callable[[], Known]]] = {
    "optuna": _known_to_optuna,
    "smac": _known_to_smac,
    "pymoo": _known_to_pymoo,
}


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", CAREFUL)
def test_a_rival_prints_and_leaves_nothing(name: str, empty_folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    installed(name).make(setting(SQUARE))  # what is imported for the first time may set up its own logger
    levels = {key: logging.getLogger(key).level for key in ("", "optuna", "smac", "ConfigSpace", "pymoo")}
    before = logging.root.manager.disable, list(logging.root.handlers), list(warnings.filters)
    given = setting(SQUARE)
    rival, taken = begun(name, given)
    measured(rival, given, taken, 1)
    del rival
    assert (logging.root.manager.disable, list(logging.root.handlers), list(warnings.filters)) == before
    assert {key: logging.getLogger(key).level for key in levels} == levels
    assert capfd.readouterr() == ("", "")
    assert list(empty_folder.iterdir()) == []


@pytest.mark.parametrize("name", slow_if_slow(CAREFUL))
def test_a_design_that_is_new_stands_in_for_a_library_that_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = setting(POOL)
    rival, taken = begun(name, given)
    assert isinstance(rival, LibraryRival)
    with monkeypatch.context() as patch:
        patch.setattr(type(rival.library), "suggest", _broken)
        for _ in range(3):
            suggestion = rival.ask()
            key = int(POOL.designs([suggestion.design]).keys()[0])
            assert key not in taken
            taken.add(key)
            rival.tell(POOL.design(suggestion.design), losses(POOL.design(suggestion.design)))
    assert rival.fallbacks == 3
    measured(rival, given, taken, 2)
    assert rival.fallbacks == 3


def _broken(library: object) -> dict[str, object]:
    raise RuntimeError("nothing to suggest")


@pytest.mark.parametrize("name", slow_if_slow(CAREFUL))
def test_a_rival_has_an_answer_when_every_design_was_told(name: str) -> None:
    tiny = Space({"a": [1, 2], "b": ["x", "y"]})
    rival, taken = begun(name, setting(tiny, n_initial=4))
    assert len(taken) == 4
    for _ in range(2):
        assert dict(rival.ask().design) in tiny


@pytest.mark.parametrize("name", CAREFUL)
def test_conditions_are_refused(name: str) -> None:
    space = Space({"a": ["x", "y"], "b": (0.0, 1.0)}, conditions={"b": {"a": ["x"]}})
    with pytest.raises(InvalidValueError, match="conditions"):
        installed(name).make(setting(space))


def zdt1(design: Design) -> dict[str, float]:
    slope = 1.0 + 9.0 * design["y"]
    return {"error": design["x"], "joules": slope * (1.0 - float(np.sqrt(design["x"] / slope)))}


def volume(name: str | None, seed: int, evaluations: int) -> float:
    """The hypervolume after 10 initial designs and some evaluations; None draws at random."""
    designs = list(SQUARE.sample(10 + evaluations, np.random.default_rng((seed, 11))))
    found = [zdt1(design) for design in (designs if name is None else designs[:10])]
    if name is not None:
        rival = installed(name).make(setting(SQUARE, seed=seed, n_initial=10))
        for design in designs[:10]:
            rival.tell(design, zdt1(design))
        for _ in range(evaluations):
            design = SQUARE.design(dict(rival.ask().design))
            found.append(zdt1(design))
            rival.tell(design, found[-1])
    return hypervolume(np.array([list(row.values()) for row in found]), np.array([1.1, 11.0]))


@pytest.mark.parametrize(
    "name", [*slow_if_slow(["optuna-tpe", "optuna-gp"]), pytest.param("smac-parego", marks=pytest.mark.long)]
)
def test_a_rival_is_better_than_chance(name: str) -> None:
    seeds, evaluations = (range(1), 8) if name == "optuna-gp" else (range(5), 20)
    found, drawn = (np.mean([volume(who, seed, evaluations) for seed in seeds]) for who in (name, None))
    assert found > drawn
