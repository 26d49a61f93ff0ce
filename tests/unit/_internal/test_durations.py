from __future__ import annotations

import pytest

from flexibo._internal.durations import parse_seconds, parse_share


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("30m", 1800.0),
        ("1.5 h", 5400.0),
        ("2d", 172800.0),
        (" 2 d ", 172800.0),
        ("1e3", 1000.0),
        ("0.001s", 0.001),
    ],
)
def test_a_duration_is_a_number_with_or_without_a_unit(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", " ", "s", "soon", "30min", "1h30m", "3M", "0", "0h", "-1", "nan", "inf", "infm", "1e308d", "1,5h"]
)
def test_what_is_no_positive_finite_duration_is_none(text: str) -> None:
    assert parse_seconds(text) is None


@pytest.mark.parametrize(
    ("text", "share"),
    [("5%", 0.05), ("2.5 %", 0.025), (" 0.05 ", 0.05), ("0", 0.0), ("0%", 0.0), ("99.9%", 0.999), ("7%", 0.07)],
)
def test_a_share_is_a_number_or_a_percentage(text: str, share: float) -> None:
    assert parse_share(text) == share


@pytest.mark.parametrize("text", ["", "%", "few", "5", "1", "100%", "-1%", "-0.1", "nan", "nan%", "inf", "5%%"])
def test_what_is_no_share_below_one_is_none(text: str) -> None:
    assert parse_share(text) is None
