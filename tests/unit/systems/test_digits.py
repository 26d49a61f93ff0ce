"""The digits network: trained and run for real, in its smallest sizes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexibo.errors import InvalidValueError
from flexibo.systems import System, digits_system
from flexibo.systems._digits_network import (
    BRIGHTEST,
    Architecture,
    Deployment,
    DigitImages,
    DigitPredictor,
    Training,
    fresh_weights,
    load_images,
    serving,
    train,
    trained_weights,
)
from flexibo.systems.digits import Digits, digits_space, median_rise

SMALL: dict[str, Any] = {
    "layers": 1,
    "width": 16,
    "activation": "relu",
    "learning_rate": 0.01,
    "l2": 1e-4,
    "epochs": 2,
    "batch": 64,
    "threads": 1,
    "precision": "float32",
    "layout": "row",
}


@cache
def images() -> tuple[DigitImages, DigitImages]:
    return load_images()


class CountingTrainer:
    """Trains for real and counts how often."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *args: Any) -> Any:
        self.count += 1
        return train(*args)


class SteadyMeter:
    """A meter whose counter rises by the same amount at each reading."""

    name = "a steady meter"

    def __init__(self, joules_per_reading: float) -> None:
        self.joules_per_reading = joules_per_reading
        self.joules = 0.0

    def read_joules(self) -> float:
        self.joules += self.joules_per_reading
        return self.joules


@pytest.fixture(scope="module")
def digits() -> Digits:
    return Digits()


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


def test_the_same_design_has_the_same_error_in_every_run(digits: Digits) -> None:
    error = digits.error_percent(SMALL)
    assert Digits().error_percent(SMALL) == error
    assert 2 < error < 60


def test_the_error_does_not_change_with_deployment_options(digits: Digits) -> None:
    deployed = SMALL | {"batch": 8, "threads": 2, "precision": "float16", "layout": "column"}
    assert digits.error_percent(deployed) == digits.error_percent(SMALL)


@pytest.mark.parametrize(
    "change",
    [{"layers": 2}, {"width": 8}, {"activation": "tanh"}, {"learning_rate": 0.001}, {"l2": 0.1}, {"epochs": 3}],
    ids=lambda change: next(iter(change)),
)
def test_the_error_changes_with_every_network_option(digits: Digits, change: dict[str, Any]) -> None:
    assert digits.error_percent(SMALL | change) != digits.error_percent(SMALL)


def test_more_training_of_a_larger_network_gives_a_clearly_smaller_error(digits: Digits) -> None:
    large = SMALL | {"width": 96, "epochs": 6}
    assert digits.error_percent(large) < digits.error_percent(SMALL) / 1.5


def test_a_second_request_for_the_same_network_does_not_train_again() -> None:
    trainer = CountingTrainer()
    digits = Digits(train=trainer)
    first = digits.error_percent(SMALL)
    assert digits.error_percent(SMALL | {"batch": 8, "precision": "float64"}) == first
    assert trainer.count == 1
    digits.error_percent(SMALL | {"epochs": 1})
    assert trainer.count == 2


def test_measuring_inference_trains_nothing() -> None:
    trainer = CountingTrainer()
    assert Digits(train=trainer).inference_ms(SMALL) > 0
    assert trainer.count == 0


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


def test_inference_costs_more_in_the_largest_network_than_in_the_smallest(digits: Digits) -> None:
    smallest = SMALL | {"width": 8}
    largest = SMALL | {"width": 192, "layers": 3}
    readings = [[digits.inference_ms(network) for network in (largest, smallest)] for _ in range(4)]
    slow, fast = (min(column) for column in zip(*readings, strict=True))
    assert slow > 2 * fast


def test_inference_costs_more_in_small_batches_than_in_large_ones(digits: Digits) -> None:
    # The best of several readings: other work on the machine only ever makes one slower.
    readings = [[digits.inference_ms(SMALL | {"batch": batch}) for batch in (8, 128)] for _ in range(6)]
    small, large = (min(column) for column in zip(*readings, strict=True))
    assert small > 1.5 * large


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


def test_a_reading_is_the_median_rise_of_the_gauge_per_call() -> None:
    calls: list[None] = []

    def gauge() -> float:
        hiccup = 50.0 if len(calls) > 30 else 0.0  # within the second of three readings
        return 2.0 * len(calls) + hiccup

    ticks = iter([0.0, 0.001])
    rise = median_rise(
        lambda: calls.append(None), gauge, window_seconds=0.0195, n_readings=3, clock=lambda: next(ticks)
    )
    assert rise == pytest.approx(2.0)
    assert len(calls) == 2 + 3 * 20


def test_a_given_meter_yields_joules_per_thousand_images() -> None:
    digits = Digits(SteadyMeter(3.0))
    calls_at_most = 0.02 / 1e-6
    joules = digits.inference_joules(SMALL)
    # Each reading rises by 3 J, over one call of 512 images at least.
    assert 1000 * 3.0 / 512 / calls_at_most < joules <= 1000 * 3.0 / 512


def test_without_a_meter_joules_are_a_clear_error(digits: Digits) -> None:
    with pytest.raises(InvalidValueError, match=r"no energy meter.*inference_ms"):
        digits.inference_joules(SMALL)


def test_a_system_with_a_meter_measures_energy_and_says_so() -> None:
    system = digits_system(SteadyMeter(1.0), cores=2)
    assert [objective.name for objective in system.objectives] == ["error_percent", "inference_joules"]
    assert system.objectives[1].unit == "J"
    assert any("a steady meter" in note for note in system.notes)
    assert system.functions["inference_joules"](SMALL) > 0


def test_a_system_without_a_meter_measures_time_and_says_why(tmp_path: Path) -> None:
    system = digits_system("auto", powercap=tmp_path, cores=2)
    assert [objective.name for objective in system.objectives] == ["error_percent", "inference_ms"]
    assert any("RAPL" in note and str(tmp_path) in note for note in system.notes)
    assert system.functions["inference_ms"](SMALL) > 0


def test_a_system_reads_the_meter_that_the_machine_has(tmp_path: Path) -> None:
    zone = tmp_path / "intel-rapl:0"
    zone.mkdir()
    for name, text in {"name": "package-0", "energy_uj": "12", "max_energy_range_uj": "1000"}.items():
        (zone / name).write_text(text)
    assert digits_system("auto", powercap=tmp_path).objectives[1].name == "inference_joules"


def test_the_objectives_depend_on_the_options_that_matter_to_them() -> None:
    error, inference = digits_system(None).objectives
    network = {"layers", "width", "activation"}
    assert set(error.options or ()) == network | {"learning_rate", "l2", "epochs"}
    assert set(inference.options or ()) == network | {"batch", "threads", "precision", "layout"}
    assert inference.noisy
    assert not error.noisy


def test_every_design_of_the_space_is_measurable_in_both_objectives(digits: Digits) -> None:
    space = digits_space(cores=2)
    assert 8 <= len(space.names) <= 10
    for design in space.sample(3, np.random.default_rng(0)):
        assert digits.inference_ms(design) > 0
        assert 0 <= digits.error_percent({**design, "epochs": 1}) <= 100


@pytest.mark.parametrize(("cores", "most"), [(1, 1), (2, 2), (6, 4), (64, 64)])
def test_threads_go_up_to_the_cores_of_the_machine(cores: int, most: int) -> None:
    options = {design["threads"] for design in digits_space(cores).sample(500, np.random.default_rng(0))}
    assert max(options) == most
    assert min(options) == 1


def test_the_measurements_can_be_sent_to_another_process(digits: Digits) -> None:
    copy = pickle.loads(pickle.dumps(digits))
    assert copy.error_percent(SMALL) == digits.error_percent(SMALL)


def test_fresh_weights_have_the_shapes_of_the_architecture() -> None:
    weights = fresh_weights(Architecture(2, 24, "relu"), np.random.default_rng(0))
    assert [matrix.shape for matrix in weights.matrices] == [(64, 24), (24, 24), (24, 10)]
    assert [bias.shape for bias in weights.biases] == [(24,), (24,), (10,)]


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"width": 0}, "'width' is 0;"),
        ({"layers": 1.5}, r"'layers' is 1\.5;"),
        ({"activation": "gelu"}, "'activation' is 'gelu'; .*relu, tanh, logistic"),
        ({"learning_rate": 0.0}, r"'learning_rate' is 0\.0;"),
        ({"l2": "small"}, "'l2' is 'small';"),
        ({"epochs": True}, "'epochs' is True;"),
    ],
)
def test_a_network_option_out_of_place_is_named(digits: Digits, change: dict[str, Any], facts: str) -> None:
    with pytest.raises(InvalidValueError, match=facts):
        digits.error_percent(SMALL | change)


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"precision": "int4"}, "'precision' is 'int4'; .*float64, float32, float16"),
        ({"layout": "tiled"}, "'layout' is 'tiled'; .*row, column"),
        ({"batch": -8}, "'batch' is -8;"),
        ({"threads": 0}, "'threads' is 0;"),
    ],
)
def test_a_deployment_option_out_of_place_is_named(digits: Digits, change: dict[str, Any], facts: str) -> None:
    with pytest.raises(InvalidValueError, match=facts):
        digits.inference_ms(SMALL | change)


def test_a_missing_option_is_named(digits: Digits) -> None:
    design = {name: value for name, value in SMALL.items() if name != "width"}
    with pytest.raises(InvalidValueError, match=r"no option 'width'; .*layers, width, activation"):
        digits.error_percent(design)


@pytest.mark.parametrize(
    ("build", "facts"),
    [
        (lambda: digits_system("rapl"), "meter is 'rapl'; .*'auto', None"),  # type: ignore[arg-type]
        (lambda: digits_space(cores=0), "cores is 0;"),
    ],
    ids=["meter", "cores"],
)
def test_a_wrong_argument_is_a_clear_error(build: Callable[[], object], facts: str) -> None:
    with pytest.raises(InvalidValueError, match=facts):
        build()


def test_a_system_needs_one_function_per_objective() -> None:
    system = digits_system(None)
    with pytest.raises(
        InvalidValueError, match=r"'digits' .*error_percent, inference_ms .*functions for error_percent;"
    ):
        System("digits", system.space, system.objectives, {"error_percent": len})
