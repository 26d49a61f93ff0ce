"""Lines that fit a terminal."""

from __future__ import annotations

import pytest

from flexibo.cli._text import wrapped


@pytest.mark.parametrize("width", range(20, 60))
def test_a_number_is_never_parted_from_its_unit_of_time(width: int) -> None:
    lines = wrapped("Begun 2026-11-15 18:29:59, 2.5 h ago; 63 events, the last 13 s ago.", width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert all(whole in text for whole in ("2026-11-15 18:29:59", "2.5 h ago", "13 s ago"))
