"""The network of the digits: its images and options, its training, and inference with numpy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from flexibo.errors import InvalidValueError
from flexibo.systems._digits_network import (
    ACTIVATIONS,
    BRIGHTEST,
    Architecture,
    Deployment,
    DigitImages,
    DigitPredictor,
    Training,
    fresh_weights,
    group_of,
    load_images,
    option_names,
    serving,
    train,
    trained_weights,
)


@cache
def images() -> tuple[DigitImages, DigitImages]:
    return load_images()


@pytest.fixture(scope="module", params=["relu", "tanh", "logistic"])
def classifier(request: pytest.FixtureRequest) -> Any:
    training_images, _ = images()
    return train(Architecture(2, 12, request.param), Training(0.01, 1e-4, 2), training_images)


def labels_of(classifier: Any, *, precision: str, layout: str = "row", batch: int = 100, threads: int = 1) -> Any:
    _, test_images = images()
    deployment = Deployment(batch=batch, threads=threads, precision=precision, layout=layout)
    predictor = DigitPredictor(trained_weights(classifier), classifier.activation, deployment)
    with serving(predictor, threads) as labels:
        return labels(test_images.pixels)


@pytest.mark.parametrize("layout", ["row", "column"])
@pytest.mark.parametrize(("batch", "threads"), [(1000, 1), (64, 2), (37, 3)])
def test_double_precision_predicts_what_scikit_learn_predicts(
    classifier: Any, layout: str, batch: int, threads: int
) -> None:
    _, test_images = images()
    expected = classifier.predict(test_images.pixels / BRIGHTEST)
    labels = labels_of(classifier, precision="float64", layout=layout, batch=batch, threads=threads)
    np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_lower_precision_agrees_with_double_precision_on_nearly_all_images(classifier: Any, precision: str) -> None:
    agreement = np.mean(labels_of(classifier, precision=precision) == labels_of(classifier, precision="float64"))
    assert agreement > 0.99


def test_a_request_of_fewer_images_than_threads_is_served(classifier: Any) -> None:
    _, test_images = images()
    deployment = Deployment(batch=8, threads=4, precision="float64", layout="row")
    with serving(DigitPredictor(trained_weights(classifier), classifier.activation, deployment), 4) as labels:
        np.testing.assert_array_equal(
            labels(test_images.pixels[:3]), classifier.predict(test_images.pixels[:3] / BRIGHTEST)
        )


def test_train_and_test_images_are_always_the_same_and_every_digit_is_equally_frequent() -> None:
    (train_images, test_images), (_, test_again) = images(), load_images()
    np.testing.assert_array_equal(test_images.pixels, test_again.pixels)
    assert len(train_images.labels) + len(test_images.labels) == 5 * 1797
    for part in (train_images, test_images):
        assert np.bincount(part.labels) / len(part.labels) == pytest.approx(np.full(10, 0.1), abs=0.005)


def test_no_test_image_is_a_moved_training_image() -> None:
    train_images, test_images = images()
    seen = {row.tobytes() for row in train_images.pixels}
    assert not any(row.tobytes() in seen for row in test_images.pixels)


def test_a_moved_image_is_the_image_one_pixel_further() -> None:
    train_images, _ = images()
    number = len(train_images.labels) // 5
    still = train_images.pixels[0].reshape(8, 8)
    moved = train_images.pixels[number].reshape(8, 8)
    np.testing.assert_array_equal(moved[:, :-1], still[:, 1:])
    assert not moved[:, -1].any()


def test_fresh_weights_have_the_shapes_of_the_architecture() -> None:
    weights = fresh_weights(Architecture(2, 24, "relu"), np.random.default_rng(0))
    assert [matrix.shape for matrix in weights.matrices] == [(64, 24), (24, 24), (24, 10)]
    assert [bias.shape for bias in weights.biases] == [(24,), (24,), (10,)]


@pytest.mark.parametrize("name", ["relu", "tanh", "logistic"])
def test_activations_are_computed_in_place_and_cannot_overflow(name: str) -> None:
    h = np.array([-1e6, -1.0, 0.0, 2.0, 1e6])
    with np.errstate(over="ignore"):
        expected = {"relu": np.maximum(h, 0), "tanh": np.tanh(h), "logistic": 1 / (1 + np.exp(-h))}[name]
    with np.errstate(all="raise", under="ignore"):
        assert ACTIVATIONS[name](h) is None
    np.testing.assert_allclose(h, expected, rtol=1e-12, atol=1e-15)


def test_the_groups_of_options_share_none_and_take_their_own_values_from_a_design() -> None:
    names = option_names(Architecture, Training, Deployment)
    assert len(set(names)) == len(names) == 10
    design = {"batch": 8, "threads": 2, "precision": "float16", "layout": "column", "width": "not looked at"}
    assert group_of(Deployment, design) == Deployment(8, 2, "float16", "column")


def test_the_first_option_that_a_design_lacks_is_named_with_those_that_are_needed() -> None:
    with pytest.raises(InvalidValueError, match=r"'l2';.*learning_rate, l2, epochs"):
        group_of(Training, {"learning_rate": 0.1})


def test_the_same_training_gives_the_same_weights() -> None:
    training_images, _ = images()
    few = DigitImages(training_images.pixels[:50], training_images.labels[:50])
    first, again = (trained_weights(train(Architecture(1, 4, "relu"), Training(0.01, 1e-4, 1), few)) for _ in range(2))
    for one, other in zip((*first.matrices, *first.biases), (*again.matrices, *again.biases), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [matrix.shape for matrix in first.matrices] == [(64, 4), (4, 10)]
