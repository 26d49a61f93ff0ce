from __future__ import annotations

import re
from dataclasses import FrozenInstanceError

import pytest

from flexibo.methods import METHODS, RandomMethod, ScoringMethod
from flexibo.methods.base import ANY_NUMBER, Constraints, Method


def test_limits_name_objectives_constraints_and_extras() -> None:
    assert "6 objectives" in METHODS["flexibo"].limits
    assert "constraints" in METHODS["sobol"].limits
    assert "constraints" not in METHODS["ehvi"].limits
    assert "evolution" in METHODS["nsga2"].limits


def test_limits_come_from_the_fields() -> None:
    assert "any number" in Method(name="a", summary="").limits
    narrow = Method(
        name="a", summary="", most_objectives=3, constraints=Constraints.IGNORED, extra=("pymoo", "evolution")
    )
    assert re.search("3 objectives.*constraints.*'evolution'", narrow.limits)
    assert "constraints" not in Method(name="a", summary="", most_objectives=ANY_NUMBER).limits


def test_a_method_is_cost_aware_unless_its_cost_is_constant() -> None:
    assert not Method(name="a", summary="").cost_aware
    assert Method(name="a", summary="", cost="learned").cost_aware


def test_what_is_measured_together_follows_from_being_coupled() -> None:
    assert "all" in Method(name="a", summary="").measures
    assert "one" in Method(name="a", summary="", coupled=False).measures


def test_scoring_methods_weigh_constraints_and_random_ones_ignore_them_unless_they_say_otherwise() -> None:
    scoring = ScoringMethod(name="a", summary="", acquisition=lambda belief, rng: belief.mu, score="a mean")
    assert scoring.constraints is Constraints.WEIGHTED
    assert RandomMethod(name="a", summary="").constraints is Constraints.IGNORED


def test_a_method_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        METHODS["ehvi"].cost = "learned"  # type: ignore[misc]
