"""Labels, markers and the limits of axes."""

from __future__ import annotations

import pytest

from flexibo.plots import style
from flexibo.plots.style import LOOKS, text


def test_long_names_are_shortened() -> None:
    assert len(text("n" * 500)) <= 40


def test_kinds_differ_in_black_and_white() -> None:
    looks = [(look.marker, look.hollow) for look in LOOKS.values()]
    sizes = [(look.marker, look.hollow, look.size) for look in LOOKS.values()]
    assert len(set(sizes)) == len(LOOKS)
    on_front = [look for kind, look in zip(LOOKS, looks, strict=True) if kind.startswith("front")]
    assert len({marker for marker, _ in on_front}) == len(on_front)


def test_error_bars_are_shown_as_far_as_they_leave_room_for_the_rest() -> None:
    ax = style.new_axes()
    style.scale(ax, "x", [10.0, 20.0], log=False, bars=[(8.0, 22.0)], others=[24.0, 1e6])
    assert ax.get_xlim() == pytest.approx((8 - 0.08 * 16, 24 + 0.08 * 16))
    style.scale(ax, "x", [10.0, 20.0], log=False, bars=[(-1e9, 1e9)])
    assert ax.get_xlim() == pytest.approx((2 - 0.08 * 26, 28 + 0.08 * 26))
    style.scale(ax, "y", [1.0, 1e4], log=True, bars=[(-5.0, 1e4), (2.0, 1e5)])
    assert ax.get_ylim() == pytest.approx((10 ** (-3.2 - 0.08 * 8.2), 10 ** (5 + 0.08 * 8.2)))
    style.scale(ax, "y", [3.0], log=False)
    assert ax.get_ylim() == pytest.approx((3 - 0.24, 3 + 0.24))


def test_ticks_of_whole_numbers_are_whole() -> None:
    ax = style.new_axes()
    style.scale(ax, "y", [1.0, 3.0], log=False, whole=True)
    assert all(float(tick).is_integer() for tick in ax.get_yticks())


def test_numbers_are_written_beside_points_unless_they_would_cover_each_other() -> None:
    ax = style.new_axes()
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, 1.0)
    style.numbers(ax, [(0.5, 0.5, 1), (0.5001, 0.5001, 2), (0.9, 0.9, 3)])
    assert [text.get_text() for text in ax.texts] == ["1", "3"]
