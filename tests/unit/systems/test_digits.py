"""The digits network: trained and run for real, in its smallest sizes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexibo.errors import InvalidValueError
from flexibo.systems import digits_system
from flexibo.systems._digits_network import (
    train,
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
