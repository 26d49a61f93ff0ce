"""What the tasks of BERT share: its training, its vocabulary, and texts as rows of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.tasks.small_tasks import BERT, answer_task, on_one_thread, review_task  # noqa: E402

from flexibo.errors import InvalidValueError  # noqa: E402
from flexibo.systems.networks import bert  # noqa: E402
from flexibo.systems.tasks.text import TextTraining, padded  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with on_one_thread():
        yield


@pytest.mark.parametrize(("given", "factor"), [(None, 10), (3.0, 3)])
def test_the_learning_rate_is_multiplied(given: float | None, factor: float) -> None:
    assert TextTraining(learning_rate_factor=given).rate(BERT) == pytest.approx(5e-5 * factor)


def test_learning_rate_and_weight_decay_are_the_designs() -> None:
    task = review_task()
    optimiser = task.optimiser(task.build(BERT), BERT).steps
    assert [group["weight_decay"] for group in optimiser.param_groups] == [0.1, 0.0]
    assert optimiser.param_groups[0]["initial_lr"] == pytest.approx(5e-5 * 400)


@pytest.mark.parametrize(
    "change", [{"epochs": 9}, {"size": bert.BASE}, {"vocabulary": 99}, {"learning_rate_factor": 2.0}]
)
def test_every_setting_of_texts_changes_the_fingerprint(change: dict[str, Any]) -> None:
    assert review_task(**change).fingerprint != review_task().fingerprint


@pytest.mark.parametrize("name", ["epochs", "vocabulary", "positions", "learning_rate_factor"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), "3"])
def test_a_setting_that_is_not_positive_is_named(name: str, value: object) -> None:
    with pytest.raises(InvalidValueError, match=rf"TextTraining\.{name} is {value!r};"):
        TextTraining(**{name: value})  # type: ignore[arg-type]


def test_the_learning_rate_rises_over_a_tenth_of_all_steps_and_then_falls() -> None:
    task, design = review_task(epochs=10), BERT | {"batch_size": 8}
    optimiser = task.optimiser(task.build(design), design)
    rates = []
    for _ in range(20):  # ten passes over 16 reviews
        rates.append(optimiser.steps.param_groups[0]["lr"])
        optimiser.steps.step()
        optimiser.schedule.step()
    assert rates.index(max(rates)) in (1, 2)
    assert max(rates) == pytest.approx(5e-5 * 400)
    assert rates[2:] == sorted(rates[2:], reverse=True)


def test_the_vocabulary_is_learned_once_from_the_training_texts_alone() -> None:
    task = review_task()
    assert task.words is task.words
    assert "film" in task.words.pieces
    assert "everywhere" not in task.words.pieces  # a word of a held-out review
    assert len(review_task(vocabulary=40).words) <= 40


def test_every_design_has_the_same_number_of_epochs() -> None:
    assert review_task(epochs=7).epochs(BERT) == review_task(epochs=7).epochs(BERT | {"batch_size": 64}) == 7


def test_a_network_has_the_vocabulary_of_its_task_and_the_positions_of_its_settings() -> None:
    for task in (review_task(), answer_task()):
        model = task.build(BERT)
        embeddings = [module.num_embeddings for module in model.modules() if isinstance(module, torch.nn.Embedding)]
        assert embeddings[:2] == [len(task.words), 32]


def test_shorter_rows_are_filled_up_and_no_row_is_empty() -> None:
    assert padded([[5, 6, 7], [8]], 0).tolist() == [[5, 6, 7], [8, 0, 0]]
    assert padded([[], []], 9).tolist() == [[9], [9]]
