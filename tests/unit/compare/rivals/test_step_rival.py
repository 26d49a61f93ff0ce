from __future__ import annotations

import numpy as np
import pytest

from flexibo import Space
from flexibo.compare.rivals import STEP_RIVALS
from flexibo.compare.rivals.step_rival import StepSetting
from flexibo.errors import MissingExtraError


def test_losses_are_divided_by_the_sizes_of_the_reference_point() -> None:
    setting = StepSetting(Space({"x": (0.0, 1.0)}), ("a", "b", "c"), np.array([2.0, -4.0, 0.0]), 9, 0)
    assert setting.scaled([1.0, 2.0, 3.0]) == [0.5, 0.5, 3.0]


@pytest.mark.parametrize(
    ("name", "package"), [("neps-primo", "neural-pipeline-search"), ("syne-tune-moasha", "syne-tune")]
)
def test_a_rival_that_no_extra_installs_names_its_package(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexibo.compare.rivals.base.find_spec", lambda module: None)
    with pytest.raises(MissingExtraError, match=f"pip install {package}"):
        STEP_RIVALS[name].check()
