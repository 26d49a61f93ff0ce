"""The paper's eight systems."""

from __future__ import annotations

import pytest

from flexibo.errors import UnknownNameError
from flexibo.systems.catalogue import SYSTEMS, find_system

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_the_catalogue_has_the_papers_eight_systems() -> None:
    assert len(SYSTEMS) == 8
    assert [len(entry.options) for entry in SYSTEMS.values()] == [5, 6, 8, 5, 5, 5, 5, 5]
    with pytest.raises(UnknownNameError, match=r"'lennet'.*'lenet'"):
        find_system("lennet")
