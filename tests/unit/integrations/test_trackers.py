"""The trackers by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.integrations.trackers import TRACKERS, find_tracker


def test_a_tracker_is_found_by_its_name(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    assert type(find_tracker("tensorboard", folder=str(tmp_path))).__name__ == TRACKERS["tensorboard"].name


def test_unknown_names_and_arguments_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="mlflw"):
        find_tracker("mlflw")
    with pytest.raises(InvalidValueError, match=r"tensorboard.*'uri'"):
        find_tracker("tensorboard", uri="a")
