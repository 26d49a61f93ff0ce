from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.compare.rivals.small_settings import MIXED, installed, losses, setting

from flexibo.compare.rivals.smac_parego import SmacParego
from flexibo.space import Space

pytestmark = pytest.mark.rivals


@pytest.fixture(autouse=True)
def _smac() -> None:
    installed("smac-parego")


def test_smac_learns_designs_of_every_kind_of_option_with_all_losses() -> None:
    library = SmacParego(setting(MIXED, n=3))
    designs = MIXED.sample(6, np.random.default_rng(2))
    for design in designs:
        library.learn(design, list(losses(design, 3).values()))
    history = library._smac.runhistory
    told = [(dict(history.get_config(key.config_id)), value.cost) for key, value in history.items()]
    for (held, cost), design in zip(told, designs, strict=True):
        assert {name: held[name] for name in MIXED.names if name in held} == {
            name: pytest.approx(design[name]) if isinstance(design[name], float) else design[name]
            for name in MIXED.names
            if name in held
        }
        assert cost == list(losses(design, 3).values())
    assert library.predict(designs) is None


def test_a_rule_is_left_to_the_comparison() -> None:
    ruled = Space({"a": (0, 9), "b": (0, 9)}, valid=lambda design: design["a"] + design["b"] >= 10)
    library = SmacParego(setting(ruled))
    assert set(library._space) == {"a", "b"}
    library.learn(ruled.design({"a": 9, "b": 1}), [1.0, 2.0])


def test_the_settings_are_those_that_the_module_states() -> None:
    smac = SmacParego(setting(MIXED, n=3, seed=7))._smac
    scenario = smac.scenario
    assert (list(scenario.objectives), scenario.seed, scenario.deterministic) == (["error", "joules", "ms"], 7, True)
    assert smac._config_selector._retrain_after == 1
    assert smac._intensifier._max_config_calls == 1
    assert smac._initial_design._n_configs == 0
    assert not Path(scenario.output_directory).exists()
