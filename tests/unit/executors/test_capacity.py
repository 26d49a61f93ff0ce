"""What fits beside what runs: on this machine, and on the workers of a cluster."""

from __future__ import annotations

import math

import pytest
from tests.unit.executors.questions import ERROR, TRAINED

from flexibo import Objective
from flexibo.errors import InvalidTypeError, InvalidValueError, MachineError
from flexibo.executors._capacity import ClusterCapacity, LocalCapacity, checked_seconds, in_words, needed

ENERGY = Objective("energy")


def test_slots_limit_an_objective_and_the_number_of_workers_limits_all() -> None:
    slots = LocalCapacity(2, {"energy": 1})
    slots.reserve(ENERGY)
    assert not slots.fits(ENERGY)
    slots.reserve(ERROR)
    assert not slots.fits(ERROR)
    slots.release(ENERGY)
    assert slots.fits(ENERGY)
    assert slots.fits(ERROR)


def test_resources_are_shared_by_fractions_and_given_back() -> None:
    third = Objective("error", resources={"GPU": 1 / 3})
    slots = LocalCapacity(9, resources={"GPU": 1})
    for _ in range(3):
        assert slots.fits(third)
        slots.reserve(third)
    assert not slots.fits(third)
    assert slots.fits(ENERGY)
    slots.release(third)
    assert slots.fits(third)


def test_what_will_never_fit_is_told_with_what_was_given_and_what_would_do() -> None:
    slots = LocalCapacity(1, resources={"GPU": 1})
    slots.check(TRAINED)
    slots.check(Objective("error", resources={"GPU": 1 + 1e-12}))  # a sum of fractions
    with pytest.raises(MachineError, match=r"'error'.* 2 of 'GPU'.* 1; .*resources=\{'GPU': 2\}"):
        slots.check(Objective("error", resources={"GPU": 2}))
    with pytest.raises(MachineError, match=r"'energy'.* 0\.5 of 'jetson'.* 0; .*resources=\{'jetson': 0\.5\}"):
        slots.check(Objective("energy", resources={"jetson": 0.5}))


def test_without_amounts_given_resources_are_not_counted() -> None:
    slots = LocalCapacity(3)
    many = Objective("error", resources={"GPU": 99})
    slots.check(many)
    slots.reserve(many)
    assert slots.fits(many)


@pytest.mark.parametrize("limits", [["energy"], {1: 1}, "energy"])
def test_limits_that_are_no_mapping_of_names_are_refused(limits: object) -> None:
    with pytest.raises(InvalidTypeError, match=r"^slots is "):
        LocalCapacity(1, limits)  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [-1, math.nan, True, "5", None])
def test_what_is_no_time_is_refused_by_the_name_of_its_argument(seconds: object) -> None:
    with pytest.raises(InvalidValueError, match=f"^grace is {seconds!r};"):
        checked_seconds("grace", seconds)
    assert checked_seconds("grace", 0) == 0
    assert checked_seconds("grace", math.inf) == math.inf


def test_an_objective_may_ask_for_another_number_of_cores() -> None:
    assert needed(ERROR) == {"CPU": 1.0}
    assert needed(Objective("error", resources={"CPU": 4, "GPU": 0.5})) == {"CPU": 4, "GPU": 0.5}


def test_a_worker_with_little_else_to_offer_is_taken_first_and_the_least_busy_of_these() -> None:
    offers = ClusterCapacity()
    offers.update({"gpu": {"CPU": 8, "GPU": 1}, "small": {"CPU": 1}, "large": {"CPU": 2}})
    places = []
    for name in "abcd":
        places.append(offers.place(needed(ERROR)))
        offers.reserve(name, places[-1], needed(ERROR))
    assert places[0] == "large"
    assert sorted(map(str, places[1:3])) == ["large", "small"]
    assert places[3] == "gpu"


def test_what_is_given_back_can_be_taken_again_and_fractions_add_up() -> None:
    offers = ClusterCapacity()
    offers.update({"a": {"CPU": 9, "GPU": 1}})
    third = {"CPU": 1.0, "GPU": 1 / 3}
    for name in "abc":
        assert offers.place(third) == "a"
        offers.reserve(name, "a", third)
    assert offers.place(third) is None
    offers.release("b")
    assert offers.place(third) == "a"


def test_workers_that_share_a_resource_take_no_more_of_it_than_there_is() -> None:
    offers = ClusterCapacity(total={"GPU": 1})
    offers.update({"a": {"CPU": 1, "GPU": 1}, "b": {"CPU": 1, "GPU": 1}})
    offers.reserve("first", offers.place(needed(TRAINED)), needed(TRAINED))
    assert offers.place(needed(TRAINED)) is None
    assert offers.place(needed(ERROR)) is not None
    assert not offers.could_fit({"CPU": 1, "GPU": 2})


def test_no_more_than_a_limit_runs_whatever_is_free() -> None:
    offers = ClusterCapacity(limit=1)
    offers.update({"a": {"CPU": 8}})
    offers.reserve("first", "a", needed(ERROR))
    assert offers.is_full
    assert offers.place(needed(ERROR)) is None
    assert offers.could_fit(needed(ERROR))
    offers.release("first")
    offers.release("first")  # a report that comes twice
    assert offers.place(needed(ERROR)) == "a"


def test_an_attempt_that_is_reserved_again_is_moved() -> None:
    offers = ClusterCapacity()
    offers.update({"a": {"CPU": 1}, "b": {"CPU": 1}})
    offers.reserve("first", "a", needed(ERROR))
    offers.reserve("first", "b", needed(ERROR))
    assert offers.place(needed(ERROR)) == "a"


def test_an_attempt_whose_worker_is_unknown_takes_nothing_of_the_others() -> None:
    offers = ClusterCapacity()
    offers.update({"a": {"CPU": 1}})
    offers.reserve("first", None, needed(ERROR))
    assert offers.place(needed(ERROR)) == "a"


def test_equal_workers_are_described_together() -> None:
    offers = ClusterCapacity()
    assert "no worker" in offers.in_words()
    offers.update({"a": {"CPU": 1, "GPU": 0.5}, "b": {"CPU": 4.0}, "c": {"GPU": 0.5, "CPU": 1}})
    assert all(words in offers.in_words() for words in ("2 with CPU=1, GPU=0.5", "1 with CPU=4"))
    assert in_words({}) == ""
