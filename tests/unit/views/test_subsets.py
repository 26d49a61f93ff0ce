"""Subsets of long tables."""

from __future__ import annotations

from flexibo.views import _subsets


def test_one_more_row_changes_at_most_one_of_the_kept() -> None:
    before = set(_subsets.random_rows(500, 50).tolist())
    after = set(_subsets.random_rows(501, 50).tolist())
    assert len(before) == 50
    assert len(before & after) >= 49
    assert min(len(before & set(range(k, k + 250))) for k in (0, 250)) > 10
