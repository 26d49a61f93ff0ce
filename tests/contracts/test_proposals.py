"""One suite for every proposal: pure, legal, distinct, complete, and undisturbed by what happens in a study."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from flexibo import Design, Objective, Space
from flexibo.belief.candidates import initial_designs
from flexibo.history import History
from flexibo.history.events import Added, Asked, Evaluation, Failed, Released, Told
from flexibo.methods.base import Proposal
from flexibo.methods.nsga2 import Nsga2
from flexibo.methods.sobol import SobolSequence
from flexibo.space import Categorical, Integer, Ordinal, Real

PROPOSALS = {"nsga2": Nsga2, "sobol": SobolSequence}
ENDLESS = {
    "mixed": Space({"x": (0.0, 1.0), "width": [8, 16, 32, 64], "cores": (1, 6), "kind": ["a", "b", "c"]}),
    "logs": Space({"rate": Real(1e-5, 1e-1, log=True), "units": Integer(1, 1000, log=True), "big": (0, 10**12)}),
    "rule": Space({"x": (0.0, 1.0), "y": (0.0, 1.0), "n": (1, 9)}, valid=lambda d: d["x"] + d["y"] < 0.6 + d["n"] / 30),
    "conditions": Space(
        {"optimiser": ["sgd", "adam"], "momentum": (0.0, 1.0), "nesterov": [True, False], "rate": (0.0, 1.0)},
        conditions={"momentum": {"optimiser": ["sgd"]}, "nesterov": {"optimiser": ["sgd"]}},
    ),
    "one real": Space({"x": (0.0, 1.0)}),
}
FINITE = {
    "plain": Space({"a": [1, 2, 3, 4], "b": ["x", "y", "z"], "c": (1, 3)}),
    "one option": Space({"a": Categorical(["p", "q", "r", "s", "t"])}),
    "one design": Space({"a": [7], "b": ["only"]}),
    "log": Space({"n": Integer(1, 30, log=True)}),
    "rule": Space({"a": (1, 12), "b": (1, 12)}, valid=lambda d: d["a"] * d["b"] % 5 == 2),
    "conditions": Space(
        {"on": [True, False], "level": Ordinal(["low", "mid", "high"]), "n": (1, 8)},
        conditions={"level": {"on": [True]}, "n": {"level": ["high"]}},
    ),
    "pool": Space.from_designs([{"a": i % 7, "b": (i * i) % 11, "kind": "uv"[i % 2]} for i in range(40)]),
}
EVERY = {**ENDLESS, **{f"finite {name}": space for name, space in FINITE.items()}}
OBJECTIVES = (Objective("up"), Objective("down", "max"))

both = pytest.mark.parametrize("make", PROPOSALS.values(), ids=PROPOSALS)


@pytest.fixture(autouse=True)
def _needs_pymoo(request: pytest.FixtureRequest) -> None:
    if "nsga2" in request.node.name:
        pytest.importorskip("pymoo")


def values(design: Design) -> dict[str, float]:
    numbers = [float(v) if isinstance(v, (int, float)) else len(str(v)) for v in design.values()]
    return {"up": math.fsum(numbers), "down": math.fsum(math.sin(3.0 * v) for v in numbers)}


def ask(history: History, design: Design, objective: str) -> int:
    number = len(history.asked)
    history.append(Asked(Evaluation(design, objective, None, 0.0, "", number, (objective,))))
    return number


def measure(history: History, design: Design) -> None:
    for objective in history.names:
        history.append(Told(ask(history, design, objective), {objective: values(design)[objective]}, 1.0))


def begun(space: Space, n: int = 6, seed: int = 3) -> tuple[History, tuple[Design, ...]]:
    """A study whose initial designs are measured."""
    history = History(space, OBJECTIVES)
    initial = initial_designs(space, n, seed)
    for design in initial:
        measure(history, design)
    return history, initial


def again(history: History) -> History:
    """The history that a resumed study would have."""
    copy = History(history.space, history.objectives)
    for event in history.events:
        copy.append(event)
    return copy


def some(designs: Iterator[Design], count: int) -> list[Design]:
    return [design for design, _ in zip(designs, range(count), strict=False)]


@both
@pytest.mark.parametrize("space", EVERY.values(), ids=EVERY)
def test_what_is_proposed_is_legal_and_new(make: Callable[[], Proposal], space: Space) -> None:
    proposal = make()
    history, initial = begun(space)
    seen = set(initial)
    while len(seen) < 26:
        upcoming = some(proposal(history, initial, 3), 3)
        if not upcoming:
            break
        assert all(design in space for design in upcoming)
        assert len(set(upcoming)) == len(upcoming)
        assert seen.isdisjoint(upcoming)
        seen.add(upcoming[0])
        measure(history, upcoming[0])
    assert len(seen) == min(26, space.size)


@both
@pytest.mark.parametrize("space", EVERY.values(), ids=EVERY)
def test_the_same_history_gives_the_same_designs_live_and_replayed(make: Callable[[], Proposal], space: Space) -> None:
    live = make()
    history, initial = begun(space)
    for step in range(15):
        upcoming = some(live(history, initial, 3), 4)
        if step % 7 == 0:
            assert some(live(history, initial, 3), 4) == upcoming
            assert some(make()(again(history), initial, 3), 4) == upcoming
        if not upcoming:
            break
        measure(history, upcoming[0])


@both
def test_another_seed_gives_other_designs(make: Callable[[], Proposal]) -> None:
    proposal = make()
    history, initial = begun(ENDLESS["mixed"])
    one, other = some(proposal(history, initial, 3), 2), some(proposal(history, initial, 4), 2)
    assert one != other
    assert some(proposal(history, initial, 3), 2) == one


@both
@pytest.mark.parametrize("space", FINITE.values(), ids=FINITE)
def test_a_finite_space_is_proposed_to_its_last_design(make: Callable[[], Proposal], space: Space) -> None:
    proposal = make()
    history, initial = begun(space, n=2)
    while (design := next(proposal(history, initial, 3), None)) is not None:
        measure(history, design)
    assert set(history.designs) == set(space.enumerate())
    assert len(history.asked) == 2 * space.size


@both
@pytest.mark.parametrize("space", [ENDLESS["rule"], FINITE["plain"], FINITE["pool"]], ids=["rule", "plain", "pool"])
def test_failures_do_not_stop_it(make: Callable[[], Proposal], space: Space) -> None:
    proposal = make()
    history, initial = begun(space)
    rng = np.random.default_rng(0)
    hopeless: set[Design] = set()
    for _ in range(45):
        design = next(proposal(history, initial, 3), None)
        if design is None:
            break
        assert design not in hopeless
        broken = rng.random() < 0.4
        for p, objective in enumerate(history.names):
            if history.is_closed(p, design):
                continue
            number = ask(history, design, objective)
            if broken and objective == "down":
                history.append(Failed(number, "no reading", 1.0))
            else:
                history.append(Told(number, {objective: values(design)[objective]}, 1.0))
        if history.is_hopeless(1, design):
            hopeless.add(design)
    assert hopeless
    assert some(make()(again(history), initial, 3), 3) == some(proposal(history, initial, 3), 3)


@both
def test_what_is_pending_is_not_proposed_and_the_order_of_answers_does_not_matter(make: Callable[[], Proposal]) -> None:
    space = ENDLESS["mixed"]
    outcomes = []
    for backwards in (False, True):
        proposal = make()
        history, initial = begun(space, n=8)
        pending: list[tuple[int, Design, str]] = []
        for _ in range(8):
            design = next(proposal(history, initial, 3))
            assert all(design != other for _, other, _ in pending)
            pending += [(ask(history, design, objective), design, objective) for objective in history.names]
        for number, design, objective in reversed(pending) if backwards else pending:
            history.append(Told(number, {objective: values(design)[objective]}, 1.0))
        outcomes.append(some(proposal(history, initial, 3), 4))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0]


@both
def test_what_was_given_back_is_proposed_again(make: Callable[[], Proposal]) -> None:
    proposal = make()
    history, initial = begun(ENDLESS["mixed"])
    first, second = some(proposal(history, initial, 3), 2)
    numbers = [ask(history, first, objective) for objective in history.names]
    assert next(proposal(history, initial, 3)) == second
    for number in numbers:
        history.append(Released(number))
    assert next(proposal(history, initial, 3)) == first


@both
def test_half_measured_designs_are_completed_first(make: Callable[[], Proposal]) -> None:
    proposal = make()
    history, initial = begun(ENDLESS["mixed"])
    design = next(proposal(history, initial, 3))
    history.append(Told(ask(history, design, "up"), {"up": values(design)["up"]}, 1.0))
    assert next(proposal(history, initial, 3)) == design


@both
def test_results_from_before_are_not_asked_for(make: Callable[[], Proposal]) -> None:
    proposal = make()
    history, initial = begun(ENDLESS["mixed"])
    brought, upcoming = some(proposal(history, initial, 3), 2)
    history.append(Added(brought, values(brought), {}))
    assert next(proposal(history, initial, 3)) == upcoming


@both
def test_two_studies_do_not_disturb_each_other(make: Callable[[], Proposal]) -> None:
    shared = make()
    studies = [begun(ENDLESS["mixed"], seed=seed) for seed in (3, 5)]
    alone = []
    for history, initial in studies:
        own, copy = make(), again(history)
        for _ in range(12):
            design = next(own(copy, initial, 3))
            measure(copy, design)
        alone.append(list(copy.designs))
    for _ in range(12):
        for history, initial in studies:
            measure(history, next(shared(history, initial, 3)))
    assert [list(history.designs) for history, _ in studies] == alone


@both
def test_it_is_silent_and_leaves_the_global_random_state_alone(
    make: Callable[[], Proposal], capfd: pytest.CaptureFixture[str]
) -> None:
    sequences = []
    for state in (1, 2):
        np.random.seed(state)  # noqa: NPY002
        before = np.random.get_state()[1].copy()  # type: ignore[union-attr]  # noqa: NPY002
        proposal = make()
        history, initial = begun(ENDLESS["rule"])
        for _ in range(20):
            measure(history, next(proposal(history, initial, 3)))
        assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
        sequences.append(list(history.designs))
    assert sequences[0] == sequences[1]
    assert capfd.readouterr() == ("", "")


@both
def test_objectives_that_share_options_are_asked_once(make: Callable[[], Proposal]) -> None:
    space = Space({"width": [1, 2], "ghz": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]})
    history = History(space, (Objective("up", options=["width"]), Objective("down", "max")))
    initial = initial_designs(space, 2, 0)
    proposal = make()
    while (design := next(proposal(history, initial, 3), None)) is not None:
        for p, objective in enumerate(history.names):
            if not history.is_closed(p, design):
                history.append(Told(ask(history, design, objective), {objective: values(design)[objective]}, 1.0))
    assert [history.count(0), history.count(1)] == [2, 20]


@both
def test_what_may_be_measured_again_is_not_proposed_again(make: Callable[[], Proposal]) -> None:
    objectives = [Objective(name, noisy=True, remeasure=True) for name in ("up", "down")]
    history = History(ENDLESS["mixed"], objectives)
    proposal = make()
    for _ in range(10):
        measure(history, next(proposal(history, (), 3)))
    assert len(history.designs) == 10
