"""The option tables of the paper."""

from __future__ import annotations

import math

import pytest

from flexibo.systems.catalogue import SYSTEMS
from flexibo.systems.options import NETWORKS, OPERATING_SYSTEM, SQUEEZENET_AS_PRINTED, TRAINING_ONLY


@pytest.mark.parametrize(
    ("network", "designs"),
    [
        ("xception", 5**4 * 2),
        ("mobilenet", 5 * 5 * 7**4),
        ("lenet", 7**4 * 5**4),
        ("resnet", 7**3 * 5**2),
        ("squeezenet", 7**4 * 5),
        ("bert", 5 * 5 * 6 * 5 * 4),
        ("deepspeech", 5 * 5 * 5 * 7 * 5),
    ],
)
def test_a_network_has_as_many_designs_as_its_table(network: str, designs: int) -> None:
    assert math.prod(map(len, NETWORKS[network].values())) == designs


def test_the_tables_are_of_the_networks_of_the_systems() -> None:
    assert {system.network for system in SYSTEMS.values()} == set(NETWORKS)
    assert set(TRAINING_ONLY) <= set(NETWORKS)


@pytest.mark.parametrize("table", [*NETWORKS.values(), SQUEEZENET_AS_PRINTED], ids=[*NETWORKS, "as printed"])
def test_values_ascend_and_sides_of_filters_are_odd(table: dict[str, tuple[float, ...]]) -> None:
    for name, values in table.items():
        assert list(values) == sorted(set(values)), name
        assert "filter_size" not in name or all(value % 2 == 1 for value in values), name


@pytest.mark.parametrize("network", list(TRAINING_ONLY))
def test_what_changes_the_training_alone_leaves_options_that_change_the_inference(network: str) -> None:
    assert set(TRAINING_ONLY[network]) < set(NETWORKS[network])
    assert {"batch_size", "sequence_length"} <= set(NETWORKS[network]) - set(TRAINING_ONLY[network])


def test_the_tables_cannot_be_changed() -> None:
    for table in (NETWORKS, TRAINING_ONLY, OPERATING_SYSTEM, SQUEEZENET_AS_PRINTED):
        with pytest.raises(TypeError):
            table["lenet"] = ()  # type: ignore[index]
