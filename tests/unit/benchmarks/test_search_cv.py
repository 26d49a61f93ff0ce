"""The comparison of FlexiSearchCV with a randomised search."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import search_cv


def test_every_row_has_both_searches(capsys: pytest.CaptureFixture[str]) -> None:
    search_cv.main(["--iterations", "2", "--seeds", "1", "--rows", "150"])
    *_, row = capsys.readouterr().out.splitlines()
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:2] == ["2", "10"]
    assert float(cells[3]) > 0
    assert float(cells[4]) > 0
    assert cells[5] in ("0 of 1", "1 of 1")


def test_a_volume_is_in_error_and_decades_of_bytes() -> None:
    found = search_cv._found(1, [0.9], [10.0**5.6])
    assert found.volume == pytest.approx(0.4 * 1.0)
    assert np.isclose(found.accuracy, 0.9)
