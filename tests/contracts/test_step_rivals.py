"""What every rival with steps keeps; those that are not installed are skipped."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.compare.rivals.small_step_settings import LEVELS, SPACE, answered, started

from flexibo.compare.rivals import STEP_RIVALS

pytestmark = pytest.mark.rivals


@pytest.mark.parametrize("name", STEP_RIVALS)
def test_designs_are_legal_and_go_on_from_where_they_stopped(name: str) -> None:
    asked = answered(started(name), 16)
    reached: dict[str, tuple[int, object]] = {}
    for rung in asked:
        level, design = reached.get(rung.token, (0, dict(rung.design)))
        assert level < rung.level <= LEVELS
        assert design == dict(rung.design)
        assert dict(rung.design) in SPACE
        reached[rung.token] = rung.level, design
    assert any(level == LEVELS for level, _ in reached.values())
    assert any(level < LEVELS for level, _ in reached.values())


@pytest.mark.parametrize("name", STEP_RIVALS)
def test_the_same_seed_asks_the_same_and_leaves_global_generators_alone(name: str) -> None:
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.RandomState(5).random()
    first = answered(started(name), 8)
    assert np.random.random() == expected  # noqa: NPY002
    assert answered(started(name), 8) == first
    assert answered(started(name, seed=1), 8) != first
