"""A mixed space with nine levels, and a rival with steps that answers come to."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo import Space
from flexibo.compare.rivals import STEP_RIVALS
from flexibo.compare.rivals.step_rival import Rung, StepRival, StepSetting
from flexibo.space import Categorical, Integer, Ordinal, Real

SPACE = Space(
    {
        "rate": Real(1e-4, 1.0, log=True),
        "units": Integer(4, 64, log=True),
        "kind": Categorical(["a", "b"]),
        "depth": Ordinal([1, 2, 4]),
    }
)
LEVELS = 9


def started(name: str, seed: int = 0) -> StepRival:
    """A rival with steps; the test is skipped if it is not installed."""
    if not STEP_RIVALS[name].is_installed():
        pytest.skip(f"{name} is not installed")
    return STEP_RIVALS[name].make(StepSetting(SPACE, ("error", "size"), np.array([1.0, 100.0]), LEVELS, seed))


def answered(rival: StepRival, count: int) -> list[Rung]:
    """The next questions; each level between the last one of a token and the asked one is told."""
    asked: list[Rung] = []
    for _ in range(count):
        rung = rival.ask()
        start = max((one.level for one in asked if one.token == rung.token), default=0)
        units, rate = float(str(rung.design["units"])), float(str(rung.design["rate"]))
        rival.tell(rung, {level: [rate + 1.0 / level, units] for level in range(start + 1, rung.level + 1)})
        asked.append(rung)
    return asked
