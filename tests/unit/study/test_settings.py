"""The settings of a stored study."""

from __future__ import annotations

import pytest

from flexibo import Space, Study
from flexibo.errors import SettingsDifferError

SPACE = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})


def test_a_stored_study_with_the_methods_own_choices_says_so(tmp_path: object) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    Study(SPACE, ["a", "b"], storage=url, seed=0)
    with pytest.raises(SettingsDifferError, match=r"cost.*'sqrt'"):
        Study(SPACE, ["a", "b"], storage=url, seed=0, cost="sqrt")
    with pytest.raises(SettingsDifferError, match=r"surrogate.*'rf'"):
        Study(SPACE, ["a", "b"], storage=url, seed=0, surrogate="rf")
