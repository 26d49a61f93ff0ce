from __future__ import annotations

from typing import Any

import pytest

from flexibo import Objective, Space
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.history import Evaluation
from flexibo.history.reports import checked_report, checked_reports, usable_reports

ERROR = Objective("error", steps=27, lower=0)
DESIGN = Space({"x": (0.0, 1.0)}).design({"x": 0.5})


def asked(start: int = 3, stop: int | None = 9) -> Evaluation:
    return Evaluation(DESIGN, "error", None, 0.0, "", 0, ("error",), start=start, stop=stop)


def test_reports_are_pairs_or_a_mapping_and_leave_out_where_it_stops() -> None:
    assert checked_reports(ERROR, asked(), [(4, 0.5), [6, 0.25]]) == ((4, 0.5), (6, 0.25))
    assert checked_reports(ERROR, asked(), {4: 0.5, 9: 0.25}, value=0.25) == ((4, 0.5),)


@pytest.mark.parametrize(
    ("reports", "kind", "named"),
    [
        ("4=0.5", InvalidTypeError, "reports"),
        ([4], InvalidTypeError, "such as"),
        ([(4.5, 0.5)], InvalidTypeError, "4.5"),
        ([(3, 0.5)], InvalidValueError, "4 to 9"),
        ([(10, 0.5)], InvalidValueError, "4 to 9"),
        ([(6, 0.5), (4, 0.5)], InvalidValueError, "after step 6"),
        ([(4, 0.5), (6, float("nan"))], InvalidValueError, "step 6.*'error'.*nan"),
        ([(4, -1.0)], InvalidValueError, "step 4.*lower bound"),
        ([(4, "low")], InvalidTypeError, "step 4.*'low'"),
        ([(9, 0.5)], InvalidValueError, "0.25"),
    ],
)
def test_what_is_wrong_with_reports_is_said(reports: Any, kind: type[Exception], named: str) -> None:
    with pytest.raises(kind, match=named):
        checked_reports(ERROR, asked(), reports, value=0.25)


def test_an_objective_without_steps_has_no_reports() -> None:
    with pytest.raises(InvalidValueError, match="steps="):
        checked_report(Objective("error"), asked(stop=None), (1, 0.5))
    with pytest.raises(InvalidValueError, match="alone"):
        checked_report(ERROR, asked(stop=None), (1, 0.5))


def test_a_failed_attempt_keeps_its_reports_up_to_the_first_wrong_one() -> None:
    assert usable_reports(ERROR, asked(), [(4, 0.5), (5, 0.4), (5, 0.3), (6, 0.2)]) == ((4, 0.5), (5, 0.4))
