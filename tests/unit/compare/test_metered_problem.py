from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flexibo import Objective, Space
from flexibo.compare.metered_problem import MeteredProblem, SteppedMeasurement
from flexibo.compare.problems.base import Curve, Problem, Proxy, constant_costs
from flexibo.errors import InvalidValueError
from flexibo.pareto import non_dominated
from flexibo.space import Designs

SPACE = Space({"width": [1, 2, 3, 4], "cores": (1, 4)})


def values(designs: Designs) -> np.ndarray:
    width, cores = designs.codes[:, 0] + 1, designs.codes[:, 1]
    return np.stack([10.0 / width, width * cores, width + cores], axis=1)


def problem(*, noise: bool = False, together: bool = False) -> Problem:
    objectives = (
        Objective("error", options=["width"]),
        Objective("joules", noisy=noise),
        Objective("ms", noisy=noise, measured_with="joules" if together else None),
    )
    costs = constant_costs([100.0, 2.0, 0.0 if together else 1.0])
    front = np.array([[2.5, 4.0, 5.0], [10.0, 1.0, 2.0]])
    spread = np.array([0.0, 0.5, 0.5]) if noise else None
    return Problem("toy", "", SPACE, objectives, values, costs, np.array([11.0, 20.0, 10.0]), front, 1.0, noise=spread)


def test_each_objective_costs_its_own_price() -> None:
    metered = MeteredProblem(problem(), seed=0)
    design = SPACE.design({"width": 2, "cores": 3})
    assert metered.measure(design, "error").cost == 100.0
    assert metered.measure(design, "joules").values == {"joules": 6.0}
    assert metered.spent == 102.0
    assert metered.counts == {"error": 1, "joules": 1, "ms": 0}


def test_what_a_design_shares_with_an_earlier_one_is_not_paid_twice() -> None:
    metered = MeteredProblem(problem(), seed=0)
    first = metered.measure(SPACE.design({"width": 2, "cores": 3}), "error")
    again = metered.measure(SPACE.design({"width": 2, "cores": 4}), "error")
    assert (again.values, again.cost) == (first.values, 0.0)
    assert metered.counts["error"] == 1
    assert metered.measure(SPACE.design({"width": 2, "cores": 4}), "joules").cost == 2.0


def test_objectives_measured_together_are_one_purchase() -> None:
    metered = MeteredProblem(problem(together=True), seed=0)
    design = SPACE.design({"width": 2, "cores": 3})
    assert metered.measure(design, "ms").values == {"joules": 6.0, "ms": 5.0}
    assert metered.measure(design, "joules").cost == 0.0
    assert (metered.spent, metered.counts["joules"], metered.counts["ms"]) == (2.0, 1, 1)


def test_every_reading_of_a_noisy_objective_is_paid_and_different() -> None:
    metered = MeteredProblem(problem(noise=True), seed=0)
    design = SPACE.design({"width": 2, "cores": 3})
    readings = [metered.measure(design, "joules") for _ in range(3)]
    assert [reading.cost for reading in readings] == [2.0, 2.0, 2.0]
    assert len({reading.values["joules"] for reading in readings}) == 3
    assert metered.measure(design, "error").values == {"error": 5.0}


def test_the_same_reading_is_the_same_for_everybody_in_whatever_order_it_is_bought() -> None:
    one, other = MeteredProblem(problem(noise=True), seed=3), MeteredProblem(problem(noise=True), seed=3)
    a, b = SPACE.design({"width": 2, "cores": 3}), SPACE.design({"width": 4, "cores": 1})
    mine = [one.measure(a, "joules").values, one.measure(b, "joules").values]
    other.measure(b, "ms")
    theirs = [other.measure(b, "joules").values, other.measure(a, "joules").values]
    assert mine == theirs[::-1]
    assert MeteredProblem(problem(noise=True), seed=4).measure(a, "joules").values != mine[0]


def test_noise_is_as_wide_as_the_problem_says() -> None:
    metered = MeteredProblem(problem(noise=True), seed=0)
    design = SPACE.design({"width": 2, "cores": 3})
    readings = np.array([metered.measure(design, "joules").values["joules"] for _ in range(2_000)])
    assert readings.mean() == pytest.approx(6.0, abs=0.05)
    assert readings.std() == pytest.approx(0.5, rel=0.1)


def test_an_unknown_objective_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InvalidValueError, match=r"'joule'.*'joules'"):
        MeteredProblem(problem(), seed=0).measure(SPACE.design({"width": 2, "cores": 3}), "joule")


def test_a_design_is_confirmed_when_every_objective_is_known() -> None:
    metered = MeteredProblem(problem(), seed=0)
    a, b = SPACE.design({"width": 2, "cores": 3}), SPACE.design({"width": 2, "cores": 4})
    assert metered.confirmed() == []
    for name in ("error", "joules"):
        metered.measure(a, name)
    assert metered.confirmed() == []
    metered.measure(a, "ms")
    assert metered.confirmed() == [a]
    for name in ("joules", "ms"):  # its error is that of `a`: the same width
        metered.measure(b, name)
    assert set(metered.touched()) == {a, b}
    assert metered.price(b, "error") == 0.0
    losses = metered.problem.losses(SPACE.designs([a, b]))
    assert set(metered.confirmed()) == {d for d, kept in zip([a, b], non_dominated(losses), strict=True) if kept}


def test_a_noisy_design_is_confirmed_by_the_mean_of_its_readings() -> None:
    metered = MeteredProblem(problem(noise=True), seed=0)
    good, bad = SPACE.design({"width": 2, "cores": 3}), SPACE.design({"width": 2, "cores": 4})
    for design in (good, bad):
        for name in metered.problem.names:
            for _ in range(200):
                metered.measure(design, name)
    true = metered.problem.losses(SPACE.designs([good, bad]))
    kept = [d for d, best in zip([good, bad], non_dominated(true).tolist(), strict=True) if best]
    assert set(metered.confirmed()) == set(kept)


def test_the_price_is_what_a_measurement_then_costs() -> None:
    metered = MeteredProblem(problem(together=True), seed=0)
    design = SPACE.design({"width": 2, "cores": 3})
    for name in ("ms", "joules", "error"):
        price = metered.price(design, name)
        assert metered.measure(design, name).cost == price


def stepped(*, proxy: bool = False) -> Problem:
    """Three steps of joules at 1, 2 and 4, in which its values fall to the last one; or a proxy of it for 0.5."""
    curve = Curve(3, lambda designs: values(designs)[:, [1]] + [2.0, 1.0, 0.0], constant_costs([1.0, 3.0, 7.0]))
    near = Proxy("near", "joules", lambda designs: values(designs)[:, [1]] + 0.1, constant_costs([0.5]))
    base = problem()
    return replace(
        base,
        objectives=(Objective("error"), Objective("joules"), Objective("ms")),
        costs=constant_costs([100.0, 7.0, 1.0]),
        curves={} if proxy else {"joules": curve},
        proxies=(near,) if proxy else (),
    )


def test_steps_are_paid_once_and_only_the_new_ones() -> None:
    metered = MeteredProblem(stepped(), seed=0)
    design = SPACE.design({"width": 2, "cores": 3})
    first = metered.measure(design, "joules", 1)
    assert (first.values, first.cost) == ({"joules": 8.0}, 1.0)
    assert metered.price(design, "joules", 1) == 0.0
    second = metered.measure(design, "joules", 3)
    assert isinstance(second, SteppedMeasurement)
    assert (second.values, second.cost, second.reports) == ({"joules": 6.0}, 6.0, ((1, 8.0), (2, 7.0)))
    assert metered.spent == 7.0


def test_steps_that_designs_share_are_paid_once() -> None:
    base = stepped()
    curve = Curve(2, lambda designs: values(designs)[:, [0]] + [1.0, 0.0], constant_costs([40.0, 100.0]))
    shared = replace(base, objectives=(Objective("error", options=["width"]), *base.objectives[1:]))
    metered = MeteredProblem(replace(shared, curves={"error": curve}), seed=0)
    one, other = SPACE.design({"width": 2, "cores": 3}), SPACE.design({"width": 2, "cores": 4})
    assert metered.measure(one, "error", 1).cost == 40.0
    again = metered.measure(other, "error", 1)
    assert (again.values, again.cost) == ({"error": 6.0}, 0.0)
    last = metered.measure(other, "error")
    assert isinstance(last, SteppedMeasurement)
    assert (last.values, last.cost, last.reports) == ({"error": 5.0}, 60.0, ((1, 6.0),))
    assert metered.price(one, "error") == 0.0
    assert metered.price(SPACE.design({"width": 3, "cores": 3}), "error") == 100.0


def test_a_method_without_steps_pays_all_of_them_at_once() -> None:
    metered = MeteredProblem(stepped(), seed=0)
    design = SPACE.design({"width": 2, "cores": 3})
    assert metered.price(design, "joules") == 7.0
    whole = metered.measure(design, "joules")
    assert isinstance(whole, SteppedMeasurement)
    assert (whole.values, whole.cost, whole.reports) == ({"joules": 6.0}, 7.0, ((1, 8.0), (2, 7.0)))
    assert metered.measure(design, "joules").cost == 0.0
    assert metered.spent == 7.0


def test_only_the_last_step_counts_as_measured() -> None:
    metered = MeteredProblem(stepped(), seed=0)
    design = SPACE.design({"width": 2, "cores": 3})
    for objective in ("error", "ms"):
        metered.measure(design, objective)
    metered.measure(design, "joules", 2)
    assert metered.confirmed() == []
    assert metered.counts["joules"] == 0
    metered.measure(design, "joules", 3)
    assert metered.confirmed() == [design]
    assert metered.counts["joules"] == 1


def test_a_step_that_there_is_not_is_refused() -> None:
    metered = MeteredProblem(stepped(), seed=0)
    with pytest.raises(InvalidValueError, match=r"'joules' stops at 4; .* 1 to 3"):
        metered.measure(SPACE.design({"width": 2, "cores": 3}), "joules", 4)


def test_a_proxy_is_paid_once_and_never_confirms_a_design() -> None:
    metered = MeteredProblem(stepped(proxy=True), seed=0)
    design = SPACE.design({"width": 2, "cores": 3})
    for objective in ("error", "ms"):
        metered.measure(design, objective)
    assert metered.measure(design, "near").values == {"near": 6.1}
    assert metered.measure(design, "near").cost == 0.0
    assert metered.spent == 101.5
    assert metered.confirmed() == []
    metered.measure(design, "joules")
    assert metered.confirmed() == [design]
