"""In which order promising designs are confirmed."""

from __future__ import annotations

import numpy as np

from flexibo import Design, Objective
from flexibo.results.confirming import in_order_of_worth
from flexibo.results.front import FrontRow
from flexibo.results.promising import PromisingRow

OBJECTIVES = [Objective("a"), Objective("b", "max"), Objective("c", at_most=1.0)]
KNOWN = {"a": True, "b": True, "c": True}


def promising(number: int, a: float, b: float, *, price: float | None = 1.0, chance: float = 1.0) -> PromisingRow:
    return PromisingRow(
        number=number,
        design=Design({"x": number}),
        values={"a": a, "b": b, "c": 0.0},
        readings={**dict.fromkeys(KNOWN, 1), "a": 0},
        spreads=dict.fromkeys(KNOWN),
        estimates={"a": a, "b": b, "c": 0.0},
        deviations=dict.fromkeys(KNOWN, 0.0),
        probability=1.0,
        standing="probable",
        gain=1.0,
        relative_gain=None,
        confirm_cost=price,
        chance=chance,
    )


def numbers(*rows: PromisingRow) -> list[int]:
    values = {"a": 3.0, "b": 3.0, "c": 0.0}
    confirmed = [
        FrontRow(
            design=Design({"x": 0}),
            values=values,
            readings=dict.fromkeys(KNOWN, 1),
            spreads=dict.fromkeys(KNOWN),
            estimates=values,
            deviations=dict.fromkeys(KNOWN, 0.0),
        )
    ]
    return [row.number for row in in_order_of_worth(rows, confirmed, OBJECTIVES, np.array([4.0, 0.0]))]


def test_neighbours_of_a_chosen_design_come_after_the_other_end_of_the_front() -> None:
    # They add (4-1)*1.5 = 4.5 at a=1, 4.47 beside it, and 1 more of b over 1 of a at the end.
    assert numbers(promising(1, 1.0, 1.5), promising(2, 1.01, 1.5), promising(3, 3.5, 4.0)) == [1, 3, 2]


def test_a_lower_price_and_a_better_chance_come_first() -> None:
    assert numbers(promising(1, 1.0, 1.5, price=10.0), promising(2, 1.1, 1.5, price=2.0)) == [2, 1]
    assert numbers(promising(1, 1.0, 1.5, chance=0.1), promising(2, 1.1, 1.5)) == [2, 1]


def test_what_adds_nothing_keeps_its_order_at_the_end() -> None:
    assert numbers(promising(1, 9.0, 1.0), promising(2, 3.5, 1.0), promising(3, 1.0, 1.0)) == [3, 1, 2]
    assert numbers() == []


def test_a_price_of_nothing_is_no_division_by_zero() -> None:
    assert numbers(promising(1, 1.0, 1.5, price=0.0), promising(2, 1.1, 1.5, price=None)) == [1, 2]
