from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import pytest
from scipy.stats import qmc

from flexibo import Design, Objective, Space
from flexibo.history import History
from flexibo.history.events import Added
from flexibo.methods.sobol import SobolSequence
from flexibo.space import Categorical, Integer, Real, filling

OBJECTIVES = (Objective("a"), Objective("b"))


def first(space: Space, count: int, seed: int = 0) -> list[Design]:
    return list(islice(SobolSequence()(History(space, OBJECTIVES), (), seed), count))


def test_it_fills_the_space_more_evenly_than_a_draw() -> None:
    space = Space(dict.fromkeys("uvwx", (0.0, 1.0)))
    rng = np.random.default_rng(0)
    spread = [qmc.discrepancy(space.designs(first(space, 64, seed)).encoded()) for seed in range(5)]
    drawn = [qmc.discrepancy(space.sample(64, rng).encoded()) for _ in range(5)]
    assert max(spread) < 0.5 * min(drawn)


def test_the_designs_are_scipy_s_sequence_read_on_the_scales_of_the_options() -> None:
    space = Space({"x": (2.0, 4.0), "rate": Real(1e-4, 1.0, log=True), "n": (1, 5), "kind": ["a", "b", "c"]})
    U = qmc.Sobol(4, scramble=True, seed=np.random.default_rng((8, 4))).random(128)
    for design, u in zip(first(space, 128, seed=8), U, strict=True):
        assert design["x"] == pytest.approx(2.0 + 2.0 * u[0], rel=1e-12)
        assert design["rate"] == pytest.approx(10.0 ** (4.0 * u[1] - 4.0), rel=1e-9)
        assert design["n"] == 1 + int(5 * u[2])
        assert design["kind"] == "abc"[int(3 * u[3])]


@pytest.mark.parametrize("count", [8, 16, 64, 256])
def test_each_value_comes_equally_often_in_a_power_of_two_of_designs(count: int) -> None:
    space = Space({"x": (0.0, 1.0), "kind": list("abcd"), "width": [8, 16], "n": (1, 8), "three": list("uvw")})
    designs = first(space, count, seed=5)
    for name, size in (("kind", 4), ("width", 2), ("n", 8)):
        assert set(Counter(design[name] for design in designs).values()) == {count // size}
    assert all(abs(number - count / 3) < 1.0 for number in Counter(d["three"] for d in designs).values())


def test_a_log_scale_gets_as_many_designs_below_its_middle_as_above() -> None:
    space = Space({"rate": Real(1e-6, 1.0, log=True), "units": Integer(1, 10**6, log=True)})
    designs = first(space, 64)
    assert sum(design["rate"] < 1e-3 for design in designs) == 32
    assert 31 <= sum(design["units"] < 790 for design in designs) <= 33  # 790 is in the middle, from 0.5 up


def test_the_sequence_does_not_depend_on_how_many_were_asked_for() -> None:
    space = Space({"x": (0.0, 1.0), "kind": list("abc"), "n": (1, 30)})
    whole = first(space, 150)
    assert first(space, 70) == whole[:70]
    history = History(space, OBJECTIVES)
    proposal = SobolSequence()
    for expected in whole:
        design = next(proposal(history, (), 0))
        assert design == expected
        history.append(Added(design, {"a": 0.0, "b": 0.0}, {}))


def test_a_rule_leaves_designs_out_and_changes_nothing_else() -> None:
    options = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    free = first(Space(options), 200)
    ruled = first(Space(options, valid=lambda d: d["x"] < d["y"]), 60)
    assert ruled == [design for design in free if design["x"] < design["y"]][:60]


def test_inactive_options_drop_out() -> None:
    conditions = {"momentum": {"optimiser": ["sgd"]}}
    space = Space({"optimiser": ["sgd", "adam"], "momentum": (0.0, 1.0), "rate": (0.0, 1.0)}, conditions=conditions)
    designs = first(space, 64)
    assert [design["momentum"] is None for design in designs] == [d["optimiser"] == "adam" for d in designs]
    assert sum(design["momentum"] is None for design in designs) == 32


def test_in_a_pool_it_is_the_nearest_member_that_is_left() -> None:
    rng = np.random.default_rng(1)
    rows = [{"a": float(a), "b": float(b), "kind": "uvw"[i % 3]} for i, (a, b) in enumerate(rng.random((50, 2)))]
    pool = Space.from_designs(rows)
    grid = Space(dict(pool.options))
    left = list(pool.enumerate())
    for element, member in zip(first(grid, 50, seed=2), first(pool, 50, seed=2), strict=True):
        distances = ((grid.designs(left).encoded() - grid.designs([element]).encoded()) ** 2).sum(axis=1)
        assert distances[left.index(member)] == pytest.approx(distances.min())
        left.remove(member)
    assert not left


def test_designs_that_the_sequence_hardly_meets_are_found_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "MOST_MISSES", 500)
    space = Space({"n": (0, 99_999)}, valid=lambda d: d["n"] % 20_000 == 7)
    assert sorted(design["n"] for design in first(space, 10)) == [7, 20_007, 40_007, 60_007, 80_007]


def test_where_nothing_legal_can_be_found_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "MOST_MISSES", 500)
    monkeypatch.setattr("flexibo.space.unseen.DRAWS", 500)
    assert first(Space({"x": (0.0, 1.0)}, valid=lambda d: d["x"] == 0.123456789), 1) == []


def test_a_finite_space_comes_in_a_seeded_order() -> None:
    space = Space({"kind": Categorical(list("abcde")), "n": (1, 40)})
    orders = [first(space, 1000, seed) for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert all(len(order) == len(set(order)) == 200 for order in orders)


def test_an_interrupt_does_not_end_the_sequence() -> None:
    interrupts: list[BaseException] = []

    def rule(design: Design) -> bool:
        if interrupts:
            raise interrupts.pop()
        return True

    space = Space({"x": (0.0, 1.0)}, valid=rule)
    expected = first(space, 100)
    history, proposal = History(space, OBJECTIVES), SobolSequence()
    designs = proposal(history, (), 0)
    assert list(islice(designs, 64)) == expected[:64]
    interrupts.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        next(designs)
    assert list(islice(proposal(history, (), 0), 100)) == expected
