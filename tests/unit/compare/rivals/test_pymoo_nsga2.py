from __future__ import annotations

import math

import numpy as np
import pytest
from tests.unit.compare.rivals.small_settings import MIXED, POOL, installed, losses, setting

from flexibo.compare.rivals.pymoo_nsga2 import LEAST, PymooNsga2, _code, _gene, variables
from flexibo.space import Integer, Real, Space
from flexibo.space.encoding import value_of

pytestmark = pytest.mark.rivals


@pytest.fixture(autouse=True)
def _pymoo() -> None:
    installed("pymoo-nsga2")


def test_a_gene_stands_for_one_value() -> None:
    for name, option in MIXED.options.items():
        for design in MIXED.sample(20, np.random.default_rng(1)):
            value = value_of(option, _code(option, _gene(option, design[name])))
            assert value == (pytest.approx(design[name]) if isinstance(option, Real) else design[name])


@pytest.mark.parametrize(
    ("option", "gene", "code"),
    [
        (Integer(1, 512, log=True), math.log(512.4), 512.0),
        (Integer(1, 512, log=True), -0.1, 1.0),
        (Real(0.5, 2.0), 2.0000001, 2.0),
        (Integer(3, 3), None, 3.0),
    ],
)
def test_a_gene_beyond_the_bounds_is_the_bound(option: Integer | Real, gene: float | None, code: float) -> None:
    assert _code(option, gene) == code


def test_options_that_vary_become_variables_of_their_kind() -> None:
    found = variables(MIXED)
    assert [name for name in MIXED.names if name not in found] == ["constant"]
    assert {name: type(own).__name__ for name, own in found.items()} == {
        "x": "Real",
        "rate": "Real",
        "width": "Integer",
        "effort": "Integer",
        "kind": "Choice",
        "gpu": "Choice",
        "cores": "Integer",
        "batch": "Real",
    }
    assert found["width"].bounds == (0, 3)
    assert found["batch"].bounds == (0.0, pytest.approx(math.log(512)))
    assert list(found["kind"].options) == [0, 1, 2]


@pytest.mark.parametrize(("n_initial", "size"), [(2, LEAST), (8, 4), (20, 10)])
def test_a_generation_is_half_as_large_as_the_initial_designs(n_initial: int, size: int) -> None:
    library = PymooNsga2(setting(POOL, n_initial=n_initial))
    for design in POOL.sample(n_initial, np.random.default_rng(5)):
        library.learn(design, list(losses(design).values()))
    for _ in range(max(0, size - n_initial)):  # what pymoo drew and no initial design replaced
        library.suggest()
    told: list[int] = []
    tell = library._algorithm.tell

    def counted(infills: object) -> object:
        told.append(len(infills))  # type: ignore[arg-type]
        return tell(infills=infills)

    library._algorithm.tell = counted
    for _ in range(size):
        design = POOL.design({"a": 0, "b": 0, "kind": "x"})
        library.suggest()
        library.learn(design, [1.0, 1.0])
    assert told == [n_initial]
    library.suggest()
    assert told == [n_initial, size]


def test_a_population_without_new_children_is_a_failure_that_can_be_tried_again() -> None:
    tiny = Space({"a": [1, 2]})
    library = PymooNsga2(setting(tiny, n_initial=4))
    for value in (1, 2, 1, 2):
        library.learn(tiny.design({"a": value}), [float(value), -float(value)])
    for _ in range(2):
        with pytest.raises(RuntimeError):
            library.suggest()
