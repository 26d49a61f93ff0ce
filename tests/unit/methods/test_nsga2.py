from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from flexibo import Design, Objective, Space
from flexibo.belief.candidates import initial_designs
from flexibo.errors import MissingExtraError
from flexibo.history import History
from flexibo.history.events import Added, Asked, Evaluation, Failed, Told
from flexibo.methods import nsga2
from flexibo.methods.nsga2 import Nsga2
from flexibo.space import Designs, Integer, Ordinal, Real

SPACE = Space({"x": (0.0, 1.0), "y": (0.0, 1.0), "n": (1, 5)})
OBJECTIVES = (Objective("a"), Objective("b"))


@pytest.fixture(autouse=True)
def _needs_pymoo(request: pytest.FixtureRequest) -> None:
    if "without_pymoo" not in request.node.name:
        pytest.importorskip("pymoo")


def losses(design: Design) -> dict[str, float]:
    return {"a": design["x"] + design["n"], "b": (1.0 - design["x"]) ** 2 + design["y"]}


def ask(history: History, design: Design, objective: str) -> int:
    number = len(history.asked)
    history.append(Asked(Evaluation(design, objective, None, 0.0, "", number, (objective,))))
    return number


def measure(history: History, design: Design, f: Callable[[Design], dict[str, float]] = losses) -> None:
    for objective in history.names:
        history.append(Told(ask(history, design, objective), {objective: f(design)[objective]}, 1.0))


def begun(
    n: int = 8,
    space: Space = SPACE,
    objectives: Sequence[Objective] = OBJECTIVES,
    f: Callable[[Design], dict[str, float]] = losses,
) -> tuple[History, tuple[Design, ...]]:
    """A study with n initial designs that are measured."""
    history = History(space, objectives)
    initial = initial_designs(space, n, 0)
    for design in initial:
        measure(history, design, f)
    return history, initial


def generation(history: History, initial: tuple[Design, ...], proposal: Nsga2 | None = None) -> list[Design]:
    return list((proposal or Nsga2())(history, initial, 0))


@pytest.mark.parametrize(("n", "size"), [(0, 8), (1, 8), (5, 8), (8, 8), (11, 12), (20, 20)])
def test_the_population_is_as_large_as_the_initial_designs_but_at_least_eight_and_even(n: int, size: int) -> None:
    history, initial = begun(n)
    drawn = generation(history, initial)
    assert len(drawn) == (size - n or size)
    for design in drawn if n < size else ():
        assert design not in initial
        measure(history, design)
    assert len(generation(history, initial)) == size


def test_a_generation_waits_for_all_of_the_one_before() -> None:
    history, initial = begun()
    proposal = Nsga2()
    members = generation(history, initial, proposal)
    for count, design in enumerate(members, start=1):
        assert generation(history, initial, proposal) == members[count - 1 :]
        number = ask(history, design, "a")
        history.append(Told(ask(history, design, "b"), {"b": losses(design)["b"]}, 1.0))
        assert generation(history, initial, proposal) == members[count:]
        history.append(Told(number, {"a": losses(design)["a"]}, 1.0))
    assert set(generation(history, initial, proposal)).isdisjoint(members)


def test_children_depend_on_the_losses_of_their_parents() -> None:
    history, initial = begun()
    other, _ = begun(f=lambda design: {"a": -design["x"], "b": -design["y"]})
    assert generation(history, initial) != generation(other, initial)


def test_children_do_not_depend_on_the_scale_of_the_losses() -> None:
    history, initial = begun()
    other, _ = begun(f=lambda design: {"a": 2.0**300 * losses(design)["a"], "b": 2.0**-40 * losses(design)["b"]})
    assert generation(history, initial) == generation(other, initial)


def test_a_loss_that_changes_later_changes_the_generations_as_in_a_replay() -> None:
    noisy = (Objective("a", noisy=True), Objective("b"))
    history, initial = begun(objectives=noisy)
    proposal = Nsga2()
    before = generation(history, initial, proposal)
    for design in initial[:4]:
        history.append(Added(design, {"a": 100.0 - design["y"]}, {}))
    after = generation(history, initial, proposal)
    assert after != before
    assert after == generation(history, initial)


def bred_from(history: History, initial: tuple[Design, ...], steps: int) -> list[Design]:
    """All designs of some more generations."""
    proposal = Nsga2()
    for _ in range(steps):
        measure(history, next(proposal(history, initial, 0)))
    return list(history.designs)[len(initial) :]


def test_a_design_that_failed_for_good_is_not_asked_again_and_has_no_children() -> None:
    space = Space({"x": (0.0, 1.0), "kind": ["good", "bad"]})
    history = History(space, OBJECTIVES)
    initial = tuple(
        space.design({"x": (i + 0.5) / 16, "kind": "bad" if i in (0, 15) else "good"}) for i in range(16)
    )  # the two ends of the front fail
    f = {design: {"a": design["x"], "b": -design["x"]} for design in initial}
    for design in initial:
        for objective in history.names:
            for _ in range(3 if design["kind"] == "bad" and objective == "b" else 0):
                history.append(Failed(ask(history, design, objective), "broken", 1.0))
            if design["kind"] == "good" or objective == "a":
                history.append(Told(ask(history, design, objective), {objective: f[design][objective]}, 1.0))
    children = generation(history, initial)
    assert len(children) == 16
    assert set(children).isdisjoint(initial)
    # Parents come from tournaments, and the failed lose every one: "bad" is a mutation at most.
    assert sum(child["kind"] == "bad" for child in children) <= 5
    healthy = History(space, OBJECTIVES)
    for design in initial:
        measure(healthy, design, f.__getitem__)
    assert generation(healthy, initial) != children


def test_what_is_left_of_a_failed_design_is_not_measured() -> None:
    history = History(SPACE, OBJECTIVES)
    initial = initial_designs(SPACE, 8, 0)
    for design in initial[2:]:
        measure(history, design)
    for _ in range(2):  # the same error twice is final
        assert generation(history, initial) == [*initial[:2]]
        history.append(Failed(ask(history, initial[0], "a"), "broken", 1.0))
    assert generation(history, initial) == [initial[1]]


def test_failures_alone_do_not_stop_the_breeding() -> None:
    history = History(SPACE, OBJECTIVES)
    initial = initial_designs(SPACE, 8, 0)
    for design in initial:
        for _ in range(3):
            history.append(Failed(ask(history, design, "a"), "broken", 1.0))
    assert len(generation(history, initial)) == 8


def test_designs_that_cannot_be_measured_at_all_do_not_stop_the_breeding() -> None:
    history = History(SPACE, OBJECTIVES)
    initial = initial_designs(SPACE, 8, 0)
    for design in initial[1:]:
        measure(history, design)
    history.append(Failed(ask(history, initial[0], "a"), "too large", 1.0, impossible=True))
    children = generation(history, initial)
    assert len(children) == 8
    assert set(children).isdisjoint(initial)


def test_designs_within_the_limit_are_preferred() -> None:
    objectives = (Objective("a"), Objective("b"), Objective("heat", at_most=0.5))
    f = {"heat": lambda d: d["x"]}
    history, initial = begun(16, objectives=objectives, f=lambda d: losses(d) | {"heat": f["heat"](d)})
    free, _ = begun(16)
    proposal, unlimited = Nsga2(), Nsga2()
    for _ in range(64):
        measure(history, next(proposal(history, initial, 0)), lambda d: losses(d) | {"heat": f["heat"](d)})
        measure(free, next(unlimited(free, initial, 0)))
    cool, all_x = ([design["x"] for design in list(h.designs)[-32:]] for h in (history, free))
    assert np.mean(np.array(cool) <= 0.5) > 0.8
    assert np.mean(np.array(all_x) <= 0.5) < 0.8


def test_one_objective_and_a_constraint_are_enough() -> None:
    objectives = (Objective("a"), Objective("b", at_least=0.3))
    history, initial = begun(objectives=objectives)
    bred_from(history, initial, 80)
    allowed = [losses(design)["a"] for design in history.designs if losses(design)["b"] >= 0.3]
    assert min(allowed) < min(losses(design)["a"] for design in initial if losses(design)["b"] >= 0.3)


def test_violations_are_fractions_of_the_limits() -> None:
    objectives = (Objective("a"), Objective("b", at_most=4.0), Objective("c", at_least=50.0), Objective("d", at_most=0))
    table = np.array([[1.0, 5.0, -40.0, -1.0], [2.0, 2.0, -60.0, 0.5], [np.nan] * 4])
    F, G = nsga2.values(History(SPACE, objectives), table)
    assert F.tolist() == [[1.0], [2.0], [0.0]]
    expected = [[0.25, 0.2, -1.0, 0.0], [-0.5, -0.2, 0.5, 0.0], [0.0, 0.0, 0.0, math.inf]]
    np.testing.assert_allclose(G, expected, rtol=1e-12)


def test_extreme_and_equal_losses_are_no_trouble() -> None:
    objectives = (Objective("a"), Objective("b"), Objective("c", at_most=1e-300))
    history, initial = begun(
        objectives=objectives, f=lambda d: {"a": 1e100 if d["x"] < 0.5 else -1e100, "b": 3.0, "c": 1e100 * d["y"]}
    )
    assert len(generation(history, initial)) == 8


def test_ordered_options_are_searched_on_their_own_scales() -> None:
    """Children of parents in a corner of a log scale stay in that corner."""
    space = Space({"rate": Real(1e-6, 1.0, log=True), "units": Integer(1, 10**6, log=True)})
    history = History(space, OBJECTIVES)
    rng = np.random.default_rng(0)
    initial = tuple(
        space.design({"rate": 10.0**r, "units": round(10.0**u)})
        for r, u in zip(rng.uniform(-6, -5, 20), rng.uniform(1, 1.5, 20), strict=True)
    )
    for design in initial:
        measure(history, design, lambda d: {"a": d["rate"], "b": d["units"]})
    children = generation(history, initial)
    assert np.median([design["rate"] for design in children]) < 2e-5
    assert np.median([design["units"] for design in children]) < 60
    assert len({design["units"] for design in children}) > 5


def test_few_ordered_values_mutate_from_step_to_step() -> None:
    space = Space({"x": (0.0, 1.0), "level": Ordinal(["low", "middle", "high"])})
    history = History(space, OBJECTIVES)
    initial = tuple(space.design({"x": i / 20, "level": "low"}) for i in range(20))
    for design in initial:
        measure(history, design, lambda d: {"a": d["x"], "b": -d["x"]})
    levels = [design["level"] for design in generation(history, initial)]
    assert {"low", "middle"} <= set(levels)


class Stubborn:
    """A breed that knows only one generation."""

    def __init__(self, designs: Designs) -> None:
        self.designs = designs
        self.asked = 0
        self.immigrants: list[Design] = []

    def ask(self) -> Designs:
        self.asked += 1
        return self.designs

    def tell(self, F: object, G: object) -> None:
        pass

    def immigrate(self, designs: Designs, rng: object) -> None:
        self.immigrants = list(designs)


@pytest.mark.parametrize("barren", [False, True])
def test_generations_without_anything_new_are_followed_by_a_draw(barren: bool) -> None:
    history, initial = begun()
    run = nsga2._Generations(history, initial, 0)
    breed = Stubborn(SPACE.designs([] if barren else initial))
    run._breed = breed  # type: ignore[assignment]
    run.advance(history)
    assert breed.asked == (1 if barren else 1 + nsga2.PATIENCE)
    assert list(run.generation) == breed.immigrants
    assert len(set(breed.immigrants)) == 8
    assert set(breed.immigrants).isdisjoint(initial)


def test_a_study_that_is_gone_leaves_nothing_behind() -> None:
    proposal = Nsga2()
    history, initial = begun()
    generation(history, initial, proposal)
    assert len(proposal._runs) == 1
    del history
    gc.collect()
    assert not proposal._runs


def test_an_interrupt_while_breeding_does_not_change_what_comes() -> None:
    interrupts: list[BaseException] = []

    def rule(design: Design) -> bool:
        if interrupts:
            raise interrupts.pop()
        return True

    history, initial = begun(space=Space(dict(SPACE.options), valid=rule))
    proposal = Nsga2()
    for design in generation(history, initial, proposal):
        measure(history, design)
    expected = generation(history, initial)
    interrupts.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        generation(history, initial, proposal)
    assert generation(history, initial, proposal) == expected


def test_without_pymoo_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "flexibo.methods._genes", raising=False)
    monkeypatch.setitem(sys.modules, "pymoo.algorithms.moo.nsga2", None)
    history, initial = begun()
    with pytest.raises(MissingExtraError, match=r"flexibo\[evolution\]"):
        next(Nsga2()(history, initial, 0))
