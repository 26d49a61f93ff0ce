from __future__ import annotations

from flexibo.objectives import Objective, purchases


def test_objectives_measured_together_are_one_purchase() -> None:
    objectives = [
        Objective("error", options=["a"]),
        Objective("ms", measured_with="joules", options=["a", "b"]),
        Objective("joules", options=["b", "c"]),
        Objective("watts", measured_with="ms", options=["c"]),
    ]
    error, energy = purchases(objectives)
    assert (error.objective, error.members, error.options) == ("error", (0,), ("a",))
    assert (energy.objective, energy.members) == ("joules", (2, 1, 3))
    assert set(energy.options or ()) == {"a", "b", "c"}


def test_a_purchase_depends_on_all_options_if_one_member_does() -> None:
    (purchase,) = purchases([Objective("a", options=["x"]), Objective("b", measured_with="a")])
    assert purchase.options is None
