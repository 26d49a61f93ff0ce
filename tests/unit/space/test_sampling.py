"""Sampling: distinct, legal, and as likely as promised."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np
import pytest

from flexibo.errors import InvalidValueError
from flexibo.space import Design, Integer, Real, Space


def frequencies(space: Space, m: int = 1, rounds: int = 3000) -> Counter[Design]:
    rng = np.random.default_rng(0)
    return Counter(design for _ in range(rounds) for design in space.sample(m, rng))


def assert_evenly_spread(counts: Counter[Design], cells: int) -> None:
    """Every cell was hit, and none more than five deviations off."""
    mean = sum(counts.values()) / cells
    assert len(counts) == cells
    assert max(abs(count - mean) for count in counts.values()) < 5 * np.sqrt(mean)


def mixed(valid: object = None) -> Space:
    return Space(
        {
            "filters": [16, 32, 64],
            "kernel": ["1x1", "3x3"],
            "ghz": (0.5, 2.5),
            "rate": Real(1e-4, 1e-2, log=True),
            "units": Integer(1, 1000, log=True),
        },
        valid=valid,  # type: ignore[arg-type]
    )


def test_a_sample_has_as_many_distinct_designs_as_asked_for() -> None:
    drawn = mixed().sample(5000, np.random.default_rng(0))
    assert len(drawn) == len(drawn.unique()) == 5000


def test_the_same_seed_gives_the_same_sample() -> None:
    first, second = (mixed().sample(100, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.codes, second.codes)


def test_no_designs_are_no_trouble() -> None:
    assert len(mixed().sample(0, np.random.default_rng(0))) == 0
    assert len(mixed(lambda design: False).sample(0, np.random.default_rng(0))) == 0


@pytest.mark.parametrize("m", [-1, 2.5, True, "3", None])
def test_the_number_of_designs_must_be_a_whole_number(m: object) -> None:
    with pytest.raises(InvalidValueError, match="whole number"):
        mixed().sample(m, np.random.default_rng(0))  # type: ignore[arg-type]


def test_a_small_space_is_drawn_completely() -> None:
    space = Space({"a": [1, 2, 3], "b": ["x", "y"]})
    assert set(space.sample(1000, np.random.default_rng(0))) == set(space.enumerate())


def test_a_small_space_with_a_rule_is_drawn_completely() -> None:
    space = Space({"a": (1, 50), "b": (1, 50)}, valid=lambda design: design["a"] == design["b"])
    assert len(space.sample(1000, np.random.default_rng(0))) == 50


def test_a_large_part_of_a_space_too_large_to_list_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.space._legal_designs.ENUMERATION_LIMIT", 1000)
    space = Space({"p": ["on", "off"], "x": (1, 40), "y": (1, 40)}, conditions={"x": {"p": "on"}})
    assert space.size == 41 * 40
    assert len(space.sample(800, np.random.default_rng(0))) == 800


def test_a_small_space_with_conditions_is_drawn_completely() -> None:
    space = Space({"p": ["on", "off"], "x": (1, 300)}, conditions={"x": {"p": "on"}})
    assert set(space.sample(1000, np.random.default_rng(0))) == set(space.enumerate())


def test_every_design_of_a_plain_space_is_equally_likely() -> None:
    assert_evenly_spread(frequencies(Space({"a": [1, 2, 3], "b": ["x", "y"], "c": (1, 4)})), 24)
    assert_evenly_spread(frequencies(Space({"a": [1, 2, 3], "b": ["x", "y"], "c": (1, 4)}), m=5), 24)


def test_every_design_that_obeys_a_rule_is_equally_likely() -> None:
    small = Space({"a": (1, 4), "b": (1, 4)}, valid=lambda design: design["a"] < design["b"])
    assert_evenly_spread(frequencies(small), 6)
    large = Space({"a": (1, 40), "b": (1, 40)}, valid=lambda design: design["a"] < design["b"])
    assert_evenly_spread(frequencies(large, m=200, rounds=60), 780)


def test_every_design_of_a_space_too_large_to_number_is_equally_likely() -> None:
    space = Space({f"x{i}": (1, 10**12) for i in range(6)} | {"a": (1, 8)})
    drawn = space.sample(20_000, np.random.default_rng(0))
    assert_evenly_spread(Counter(drawn.codes[:, 6].tolist()), 8)
    assert np.abs(drawn.encoded().mean(axis=0) - 0.5).max() < 0.02


def test_a_real_is_uniform_on_its_scale() -> None:
    X = mixed().sample(20_000, np.random.default_rng(0)).encoded(["ghz", "rate"])
    for column in X.T:
        np.testing.assert_allclose(np.quantile(column, [0.25, 0.5, 0.75]), [0.25, 0.5, 0.75], atol=0.02)


@pytest.mark.parametrize("others", [{}, {"x": (0.0, 1.0)}, {"x": (1, 10**6)}])
def test_a_log_integer_is_uniform_on_its_scale_in_small_and_large_spaces(others: dict[str, object]) -> None:
    space = Space({"n": Integer(1, 100, log=True)} | others)
    rng = np.random.default_rng(0)
    drawn = np.array([space.sample(1, rng)[0]["n"] for _ in range(2000)])
    share = np.log(1.5 / 0.5) / np.log(100.5 / 0.5)
    assert abs((drawn == 1).mean() - share) < 0.04
    assert 6 < np.median(drawn) < 10


def test_active_options_are_drawn_on_their_own_in_small_and_large_spaces() -> None:
    options: dict[str, object] = {"p": ["on", "off"], "x": (1, 10)}
    for others in ({}, {"y": (1, 10**6)}):
        space = Space(options | others, conditions={"x": {"p": "on"}})
        off = sum(count for design, count in frequencies(space, rounds=2000).items() if design["p"] == "off")
        assert abs(off / 2000 - 0.5) < 0.06


def test_a_sample_under_conditions_only_has_values_that_are_active() -> None:
    space = Space({"p": ["on", "off"], "x": (0.0, 1.0)}, conditions={"x": {"p": "on"}})
    drawn = space.sample(500, np.random.default_rng(0))
    assert all((design["x"] is None) == (design["p"] == "off") for design in drawn)
    assert sum(design["p"] == "off" for design in drawn) == 1


def test_designs_that_a_strict_rule_allows_are_still_found() -> None:
    space = Space({"a": (1, 300), "b": (1, 300)}, valid=lambda design: design["a"] == design["b"] == 77)
    assert [dict(design) for design in space.sample(5, np.random.default_rng(0))] == [{"a": 77, "b": 77}]


def test_an_infinite_space_is_sampled_by_rejection() -> None:
    space = mixed(lambda design: design["ghz"] < 0.6)
    drawn = space.sample(300, np.random.default_rng(0))
    assert len(drawn) == 300
    assert all(design["ghz"] < 0.6 for design in drawn)


def test_a_rule_that_forbids_everything_is_reported() -> None:
    with pytest.raises(InvalidValueError, match=r"rule.* 6 designs"):
        Space({"a": (1, 6)}, valid=lambda design: False).sample(2, np.random.default_rng(0))


def test_a_rule_that_seems_to_forbid_everything_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.space._sampling.DRAWS", 1000)
    with pytest.raises(InvalidValueError, match="1040 draws"):
        mixed(lambda design: False).sample(2, np.random.default_rng(0))


def test_drawing_gives_up_on_designs_that_are_too_rare_to_find(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.space._sampling.DRAWS", 1000)
    space = Space({"a": [1, 2], "x": (0.0, 1.0)}, conditions={"x": {"a": 2}}, valid=lambda design: design["a"] == 1)
    assert [dict(design) for design in space.sample(3, np.random.default_rng(0))] == [{"a": 1, "x": None}]


@pytest.mark.parametrize("valid", [None, lambda design: design["x0"] + design["x1"] < 12])
def test_a_trillion_designs_are_drawn_keyed_encoded_and_varied_without_listing_them(valid):
    space = Space({f"x{i}": (0, 9) for i in range(12)}, valid=valid)
    assert space.size == 10**12
    rng = np.random.default_rng(0)
    tracemalloc.start()
    try:
        designs = space.sample(1000, rng)
        near = space.neighbours(designs[:1], rng)
        assert len(set(designs.keys().tolist())) == len(designs.encoded()) == 1000
        assert all(sum(near[i][name] != designs[0][name] for name in space.names) == 1 for i in range(len(near)))
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
