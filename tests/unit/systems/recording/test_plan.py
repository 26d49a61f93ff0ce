"""A plan depends on its arguments only."""

from __future__ import annotations

import json

import pytest
from tests.unit.systems.recording.small_plan import DEPLOYMENT, NETWORK, plan_of

from flexibo.errors import InvalidValueError
from flexibo.systems.recording.plan import capped, largest_values, narrowed, plan_from, wanted_values


def test_a_plan_has_different_networks_and_deployments_from_the_options() -> None:
    plan = plan_of()
    assert len({tuple(network.items()) for network in plan.networks}) == 4
    assert len({tuple(deployment.items()) for deployment in plan.deployments}) == 3
    assert all(network[name] in NETWORK[name] for network in plan.networks for name in NETWORK)
    assert len(plan.again) == 2


def test_a_plan_takes_everything_where_there_is_no_more() -> None:
    plan = plan_of(networks=100, deployments=100)
    assert (len(plan.networks), len(plan.deployments)) == (6, 8)


def test_a_plan_is_decided_by_its_arguments() -> None:
    assert plan_of() == plan_of()
    assert plan_of().fingerprint == plan_of().fingerprint
    others = [plan_of(seed=1), plan_of(networks=5), plan_of(deployments=2), plan_of(again=1), plan_of(data="abc")]
    assert len({plan.fingerprint for plan in (plan_of(), *others)}) == 6


@pytest.mark.parametrize("wrong", [{"networks": 0}, {"deployments": 0}, {"again": -1}])
def test_a_plan_of_nothing_is_refused(wrong: dict[str, int]) -> None:
    [(name, number)] = wrong.items()
    with pytest.raises(InvalidValueError, match=rf"{name} .*{number};.*\b{number + 1}\b"):
        plan_of(**wrong)


def test_values_above_the_largest_that_is_wanted_are_not_drawn() -> None:
    assert capped(NETWORK, {"filters": 40}) == {"filters": (16, 32), "filter_size": (1, 3)}
    assert capped(NETWORK, {}) == NETWORK
    with pytest.raises(InvalidValueError, match=r"at most 8; .* 16"):
        capped(NETWORK, {"filters": 8})
    with pytest.raises(InvalidValueError, match=r"option .*'filter'.*'filters'"):
        capped(NETWORK, {"filter": 8})


@pytest.mark.parametrize("wrong", ["filters", "filters=", "filters=many", "=x"])
def test_a_largest_value_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidValueError, match="write OPTION=VALUE"):
        largest_values([wrong])


def test_only_the_wanted_values_are_drawn() -> None:
    wanted = wanted_values(["batch=4", "cuda_graphs=true,False", "other=1"])
    assert narrowed(DEPLOYMENT, wanted) == {"batch": (4,), "precision": ("fp32", "bf16"), "cuda_graphs": (False, True)}
    with pytest.raises(InvalidValueError, match=r"'precision' 'bf32'.*'fp32'"):
        narrowed(DEPLOYMENT, {"precision": ("bf32",)})


@pytest.mark.parametrize("wrong", ["batch", "batch=", "=4", "batch=,"])
def test_wanted_values_that_are_none_are_refused(wrong: str) -> None:
    with pytest.raises(InvalidValueError, match=f"--only is {wrong!r}; .*OPTION=VALUE,VALUE"):
        wanted_values([wrong])


def test_a_plan_is_made_again_from_its_plain_values() -> None:
    plan = plan_of(data="abc")
    assert plan_from(json.loads(json.dumps(plan.plain))) == plan
