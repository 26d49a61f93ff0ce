from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

from flexibo import Design, FlexiBOError, Objective, Space, Study, plots, views
from flexibo.belief.belief import feasibility
from flexibo.pareto import hypervolume
from flexibo.results.front_layout import confirmed_layout

SPACE = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})
FUNCTIONS: dict[str, Callable[[Design], tuple[float, float]]] = {
    "a": lambda d: (float(d["x"]) ** 2 + 0.3 * float(d["y"]), 1.0),  # type: ignore[arg-type]
    "b": lambda d: ((float(d["x"]) - 1.0) ** 2 + 0.3 * float(d["y"]), 1.0),  # type: ignore[arg-type]
    "ms": lambda d: (100.0 * float(d["x"]), 1.0),  # type: ignore[arg-type]
}
LIMITED = [Objective("a"), Objective("b"), Objective("ms", at_most=50.0)]


def run(objectives: list[Objective], **settings: object) -> Study:
    study = Study(SPACE, objectives, budget=45, n_initial=4, seed=0, candidates=100, **settings)  # type: ignore[arg-type]
    study.run({objective.name: FUNCTIONS[objective.name] for objective in objectives})
    return study


@pytest.fixture(scope="module")
def limited() -> Study:
    return run(LIMITED)


@pytest.fixture(scope="module")
def single() -> Study:
    return run([Objective("b"), Objective("ms", at_most=50.0)])


@pytest.mark.parametrize(
    ("bound", "limit", "direction"),
    [({"at_most": 50}, 50.0, "min"), ({"at_least": 0.9}, -0.9, "max"), ({}, np.inf, "min")],
)
def test_a_bound_is_the_greatest_loss_that_is_feasible(bound: dict[str, float], limit: float, direction: str) -> None:
    objective = Objective("latency", **bound)  # type: ignore[arg-type]
    assert objective.limit == limit
    assert objective.direction == direction
    assert objective.is_constraint == bool(bound)
    assert objective.optimise == (not bound)
    assert Objective(**objective.to_dict()) == objective


def test_a_constraint_may_be_optimised_too() -> None:
    objective = Objective("speed", at_least=30.0, optimise=True)
    assert objective.optimise
    assert objective.direction == "max"
    assert objective.limit == -30.0
    assert Objective(**objective.to_dict()) == objective


@pytest.mark.parametrize(
    ("fields", "argument", "facts"),
    [
        ({"at_most": 1, "at_least": 0}, "at_least", "at_most.*at_least"),
        ({"at_most": float("nan")}, "at_most", r"nan.*1e\+100"),
        ({"at_most": "50"}, "at_most", r"'50'.*1e\+100"),
        ({"at_most": True}, "at_most", r"True.*1e\+100"),
        ({"at_most": 1e101}, "at_most", r"1e\+101.*1e\+100"),
        ({"optimise": 0}, "optimise", "optimise 0.*True.*False"),
        ({"optimise": "yes", "at_most": 3}, "optimise", "'yes'.*True.*False"),
        ({"direction": "max", "at_most": 3}, "direction", "'max'.*at_most.*'min'"),
        ({"direction": "min", "at_least": 3}, "direction", "'min'.*at_least.*'max'"),
        ({"tolerance": -1.0}, "tolerance", "tolerance -1.0.*zero"),
    ],
)
def test_a_bound_that_makes_no_sense_is_refused(fields: dict[str, object], argument: str, facts: str) -> None:
    with pytest.raises(FlexiBOError, match=facts) as error:
        Objective("a", **fields)  # type: ignore[arg-type]
    assert error.value.argument == argument


def test_a_study_needs_something_to_optimise() -> None:
    with pytest.raises(FlexiBOError, match="constraint only"):
        Study(SPACE, [Objective("a", at_most=1), Objective("b", at_most=1)])


def test_the_probability_of_feasibility_is_that_of_all_constraints() -> None:
    mu, sigma = np.array([[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]]), np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    probability = feasibility(mu, sigma, np.array([2.0, 0.0]))
    assert probability == pytest.approx([0.8413447 * 0.5, 0.0, 1.0])


@pytest.mark.slow
def test_the_front_holds_what_keeps_the_constraint(limited: Study) -> None:
    rows = limited.front()
    assert {row.feasibility for row in rows} <= {"feasible", "unsure"}
    for row in rows:
        if row.measured["ms"]:
            assert row.feasibility == "feasible"
            assert row.values["ms"] <= 50.0
            assert row.probability == 1.0
    assert sum(row.feasibility == "feasible" for row in rows) >= 3


def test_a_constraint_is_not_in_the_reference_nor_in_the_hypervolume(limited: Study) -> None:
    assert set(limited.reference or {}) == {"a", "b"}
    without = Study(SPACE, LIMITED, n_initial=1, reference={"a": 2.0, "b": 2.0})
    for x, ms in ((0.2, 20.0), (0.9, 90.0)):
        without.add({"x": x, "y": 0.0}, {"a": x**2, "b": (x - 1) ** 2, "ms": ms})
    assert without.summary().hypervolume == pytest.approx((2 - 0.04) * (2 - 0.64))


def test_a_design_that_violates_is_shown_only_if_there_is_no_other() -> None:
    study = Study(SPACE, LIMITED, n_initial=1)
    study.add({"x": 0.9, "y": 0.0}, {"a": 0.81, "b": 0.01, "ms": 90.0})
    assert [row.feasibility for row in study.front()] == ["violating"]
    study.add({"x": 0.1, "y": 1.0}, {"a": 5.0, "b": 5.0, "ms": 10.0})
    assert [row.feasibility for row in study.front()] == ["feasible"]
    assert study.summary().feasible == {"feasible": 1, "unsure": 0, "violating": 0}


def test_one_objective_and_one_constraint_find_the_best_feasible_design(single: Study) -> None:
    best = min(row.values["b"] for row in single.front() if row.feasibility == "feasible")
    assert best == pytest.approx(0.25, abs=0.05)


def test_a_limited_objective_that_is_optimised_bounds_the_front() -> None:
    objectives = [Objective("a", at_most=0.5, optimise=True), Objective("b")]
    study = run(objectives)
    assert all(row.values["a"] <= 0.5 for row in study.front() if row.feasibility == "feasible")


@pytest.mark.slow
def test_flexibo_finds_a_better_feasible_front_than_random_search() -> None:
    volumes = {}
    for method in ("flexibo", "random"):
        designs = [row.design for row in run(LIMITED, method=method, reference=(1.5, 1.5)).front()]
        truth = np.array([[FUNCTIONS[name](design)[0] for name in ("a", "b", "ms")] for design in designs])
        volumes[method] = hypervolume(truth[truth[:, 2] <= 50.0, :2], np.array([1.5, 1.5]))
    assert volumes["flexibo"] > 1.05 * volumes["random"]


def test_constraints_are_part_of_the_stored_settings(tmp_path: object) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    Study(SPACE, LIMITED, storage=url, seed=0)
    with pytest.raises(FlexiBOError, match="other properties"):
        Study(SPACE, [Objective("a"), Objective("b"), Objective("ms", at_most=60.0)], storage=url, seed=0)
    assert Study(SPACE, LIMITED, storage=url, seed=0).objectives[2].limit == 50.0


def test_the_table_names_the_bound_and_says_who_keeps_it(limited: Study) -> None:
    headings = [" ".join(parts) for parts in confirmed_layout(limited.history, limited.front()).headings]
    assert "ms <= 50" in headings
    assert "feasible" in headings


def test_the_picture_shows_the_bound_or_the_violating_designs(limited: Study, single: Study) -> None:
    for study in (limited, single):
        labels = plots.front(study).get_legend_handles_labels()[1]
        assert any("violates" in label or "at most" in label for label in labels)


def validation_error(design: Design) -> float:
    """About 0.01 for small learning rates; training diverges with large ones, which most of a linear range are."""
    return 0.01 + 0.002 * float(design["depth"]) + 0.9 / (1.0 + (0.02 / float(design["lr"])) ** 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(("direction", "seed"), [("min", 0), ("min", 4), ("max", 4)])
def test_nothing_negative_is_believed_of_a_small_error_whose_learning_rate_has_no_log_scale(
    direction: Literal["min", "max"], seed: int
) -> None:
    space = Space({"lr": (1e-4, 0.1), "depth": (1, 8)})
    objectives = [Objective("error", direction), Objective("ms", options=["depth"])]
    study = Study(space, objectives, budget=120, n_initial=6, seed=seed, candidates=200)
    sign = objectives[0].loss(1.0)
    while (asked := study.ask()) is not None:
        value = (
            validation_error(asked.design) if asked.objective == "error" else 1.0 + 0.5 * float(asked.design["depth"])
        )  # type: ignore[arg-type]
        study.tell(asked, value, cost=10.0 if asked.objective == "error" else 1.0)
        if not all(study.history.count(j) for j in range(2)):
            continue
        belief = study.predictor.belief(study.history, np.random.default_rng(0))
        estimates = study.predictor.estimates(study.history)
        tables = [belief.mu, belief.lower, belief.upper, estimates.mu, estimates.lower, estimates.upper]
        assert all((sign * table[:, 0] >= 0.0).all() for table in tables)
        assert (sign * belief.joints[0].draws(4, np.random.default_rng(0)) >= 0.0).all()
    shown = views.slice_view(study, "error", "lr", points=30)
    assert min(shown.mean[0]) >= 0.0  # type: ignore[type-var, operator]
    assert min(row.values["error"] for row in study.front()) >= 0.0


def test_a_reading_of_zero_ends_the_assumption_that_values_are_positive() -> None:
    study = Study(SPACE, ["a", "b"], n_initial=3, seed=0, candidates=50)
    for value in (0.1, 0.2, 0.15):
        for _ in range(2):
            asked = study.ask()
            assert asked is not None
            study.tell(asked, value, cost=1.0)
    belief = study.predictor.belief(study.history, np.random.default_rng(0))
    assert belief.least.tolist() == [0.0, 0.0]  # type: ignore[union-attr]
    study.add({"x": 0.123, "y": 0.5}, {"a": 0.0})
    belief = study.predictor.belief(study.history, np.random.default_rng(0))
    assert belief.least.tolist() == [-np.inf, 0.0]  # type: ignore[union-attr]


def test_the_papers_method_assumes_nothing_but_keeps_bounds_that_are_given() -> None:
    for objective, least in ((Objective("a"), -np.inf), (Objective("a", lower=0.05), 0.05)):
        study = Study(SPACE, [objective, "b"], method="flexibo-gp-log", n_initial=3, seed=0, candidates=50)
        study.add({"x": 0.1, "y": 0.1}, {"a": 0.1, "b": 0.1})
        study.add({"x": 0.9, "y": 0.9}, {"a": 0.2, "b": 0.9})
        belief = study.predictor.belief(study.history, np.random.default_rng(0))
        assert belief.least is None if least == -np.inf else belief.least.tolist() == [least, -np.inf]  # type: ignore[union-attr]
        assert (belief.lower[:, 0] >= least).all()
