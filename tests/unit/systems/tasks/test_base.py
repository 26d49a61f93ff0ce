"""What tasks share: batches, learning rates, and what is no error value."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.tasks.small_tasks import (  # noqa: E402
    BERT,
    SPEECH,
    Constant,
    answer_task,
    generator,
    on_one_thread,
    review_task,
    speech_task,
)

from flexibo.systems.tasks.base import TrainingFailedError, adam, cycled, evaluating, n_steps, one_cycle, shuffled  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with on_one_thread():
        yield


def test_an_epoch_has_each_number_once_in_parts_of_nearly_equal_size() -> None:
    parts = shuffled(17, 8, generator())
    assert [len(part) for part in parts] == [6, 6, 5]
    assert sorted(torch.cat(parts).tolist()) == list(range(17))
    assert torch.cat(parts).tolist() != list(range(17))
    assert n_steps(17, 8) == 3
    assert n_steps(16, 8) == 2


def test_the_learning_rate_rises_and_then_falls_towards_zero() -> None:
    model = torch.nn.Linear(1, 1)
    optimiser = one_cycle(adam(model, learning_rate=1.0, weight_decay=0.0), 10, warm_share=0.2)
    rates = []
    for _ in range(10):
        rates.append(optimiser.steps.param_groups[0]["lr"])
        optimiser.steps.step()
        optimiser.schedule.step()
    assert rates == pytest.approx([0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])


def test_only_matrices_are_drawn_to_zero() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.LayerNorm(3))
    decays = {
        id(weights): group["weight_decay"]
        for group in adam(model, learning_rate=0.1, weight_decay=0.3).param_groups
        for weights in group["params"]
    }
    assert decays == {id(weights): 0.3 if name == "0.weight" else 0.0 for name, weights in model.named_parameters()}


def test_evaluating_keeps_no_gradients_and_puts_the_mode_back() -> None:
    model = torch.nn.Linear(1, 1)
    for mode in (True, False):
        model.train(mode)
        with evaluating(model):
            assert not model.training
            assert not model(torch.ones(1, 1)).requires_grad
        assert model.training == mode


def test_rows_are_repeated_from_the_first_where_there_are_too_few() -> None:
    assert cycled(torch.tensor([5, 6, 7]), 5).tolist() == [5, 6, 7, 5, 6]
    assert cycled(torch.tensor([5, 6, 7]), 2).tolist() == [5, 6]


def test_reviews_and_answers_have_different_fingerprints() -> None:
    assert review_task().fingerprint != answer_task().fingerprint


@pytest.mark.parametrize("what", ["reviews", "answers", "speech"])
def test_texts_and_letters_that_are_not_finite_are_no_error_value(what: str) -> None:
    task, design, function = {
        "reviews": (review_task(), BERT, lambda t, m: torch.full((len(t), 2), math.nan)),
        "answers": (answer_task(), BERT, lambda t, m, s: torch.full((*t.shape, 2), math.nan)),
        "speech": (
            speech_task(),
            SPEECH,
            lambda s, n: (torch.full((len(s), 5, 4), math.nan), torch.full((len(s),), 5)),
        ),
    }[what]
    with pytest.raises(TrainingFailedError, match="are not finite"):
        task.error_percent(Constant(function), design, "cpu")  # type: ignore[attr-defined]
