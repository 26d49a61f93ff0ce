"""FlexiBOSampler keeps the contract of Optuna's samplers: Optuna's own tests of samplers run over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)

from flexibo.integrations.optuna import FlexiBOSampler


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


pytestmark = pytest.mark.slow


class TestFlexiBOSampler(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: FlexiBOSampler(seed=0, n_startup_trials=2, candidates=20)


@pytest.mark.long  # its own code is tested in tests/unit/integrations/optuna
class TestExactFlexiBOSampler(RelativeSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: FlexiBOSampler(seed=0, n_startup_trials=0, deterministic_objective=True, candidates=50)
