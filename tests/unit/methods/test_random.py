from __future__ import annotations

import pytest

from flexibo import Space, Study
from flexibo.methods.random import RANDOM, RANDOM_COUPLED

SPACE = Space({"x": [1, 2, 3, 4]})


def asked(method: str, seed: int) -> list[tuple[int, tuple[str, ...]]]:
    """What a study of two exact objectives measures until nothing is left: x and the objectives of each question."""
    study = Study(SPACE, ["a", "b"], method=method, seed=seed, n_initial=1)
    questions = []
    while (evaluation := study.ask()) is not None:
        questions.append((evaluation.design["x"], evaluation.yields))
        study.tell(evaluation, dict.fromkeys(evaluation.yields, 1.0))
    return questions


def test_one_objective_at_a_time_everything_is_measured_once_in_a_seeded_order() -> None:
    order = asked("random", seed=0)
    assert sorted(order) == [(x, (name,)) for x in (1, 2, 3, 4) for name in ("a", "b")]
    assert asked("random", seed=0) == order
    assert len({tuple(asked("random", seed=seed)) for seed in range(5)}) > 1
    # Objectives of different designs are mixed after the initial design.
    designs = [x for x, _ in order[2:]]
    assert designs != sorted(designs, key=designs.index)


def test_coupled_it_finishes_a_design_before_the_next() -> None:
    for seed in range(3):
        designs = [x for x, _ in asked("random-coupled", seed)]
        assert sorted(designs) == [1, 1, 2, 2, 3, 3, 4, 4]
        assert designs == sorted(designs, key=designs.index)


@pytest.mark.parametrize(("method", "coupled"), [(RANDOM, False), (RANDOM_COUPLED, True)])
def test_costs_do_not_decide(method: object, coupled: bool) -> None:
    assert method.coupled is coupled  # type: ignore[attr-defined]
    assert not method.cost_aware  # type: ignore[attr-defined]
