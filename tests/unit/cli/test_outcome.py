"""Shares of a whole in per cent."""

from __future__ import annotations

import pytest

from flexibo.cli._outcome import shares


@pytest.mark.parametrize("costs", [[1.0, 1.0, 1.0], [0.004, 0.996], [5.0], [1.0] * 7, [0.0, 3.0]])
def test_shares_add_up(costs: list[float]) -> None:
    assert sum(int(share.removesuffix("%")) for share in shares(costs)) == 100
