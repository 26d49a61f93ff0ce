"""What the coupled rivals of BoTorch share: the search that suits a space, and the front that is reported."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from tests.comparisons import QUICK_SEARCH
from tests.unit.compare.rivals.small_botorch import GRID, SPACES, nehvi, setting_for, told

from flexibo.compare.rivals._botorch import quietly
from flexibo.compare.rivals._botorch_coupled import way_to_search
from flexibo.compare.rivals.botorch_qlognehvi import qlognehvi
from flexibo.compare.rivals.botorch_qlognparego import qlognparego
from flexibo.space import Space

pytestmark = [
    pytest.mark.botorch,
    pytest.mark.skipif(find_spec("botorch") is None, reason="BoTorch is not installed: pip install flexibo[bench]"),
]


def test_every_space_is_searched_by_the_optimiser_that_botorch_has_for_it():
    ways = {kind: way_to_search(space) for kind, space in SPACES.items()}
    assert ways == {
        "continuous": "continuous",
        "grid": "listed",
        "pool": "listed",
        "lattice": "lattice",
        "mixed": "mixed",
        "ruled": "drawn",
        "conditional": "drawn",
    }


def test_the_last_design_of_a_pool_is_asked_for_though_it_is_bad():
    space = Space.from_designs([{"x": i} for i in range(6)])
    rival = qlognehvi(setting_for(space), effort=QUICK_SEARCH)
    for x in range(5):
        rival.tell(space.design({"x": x}), {"near": x / 5, "far": x / 5})
    assert dict(rival.ask().design) == {"x": 5}
    assert rival.fallbacks == 0


def test_a_coupled_rival_leaves_the_front_to_the_measurements_unless_they_are_noisy():
    assert nehvi(GRID).front() is None
    rival = nehvi(GRID, noisy=True)
    assert set(rival.front()) <= set(rival._readings.designs)


@pytest.mark.parametrize(("exact", "is_noisy"), [(True, False), (True, True), (False, False)])
def test_a_coupled_rival_may_be_told_that_values_are_exact_where_they_are(exact, is_noisy):
    setting = setting_for(GRID, noisy=is_noisy)
    rival = told(qlognparego(setting, effort=QUICK_SEARCH, exact=exact), setting)
    with quietly(0):
        models = rival._memory.fit().model.likelihood.likelihoods
    assert all(bool((one.noise < 1e-5).all()) is (exact and not is_noisy) for one in models)
