"""What a design would take is known before it begins: its work by hand, and a speed that the test gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from flexibo.errors import DesignError  # noqa: E402
from flexibo.systems._expected_time import DeviceSpeed, TooSlowError, check_reading, check_training, speed_of, work_of  # noqa: E402
from flexibo.systems.build import task_of  # noqa: E402
from flexibo.systems.catalogue import SYSTEMS, find_system  # noqa: E402
from flexibo.systems.data.base import Dataset, Images, Questions, Recordings, Reviews  # noqa: E402
from flexibo.systems.data.base import Question as Asked  # noqa: E402
from flexibo.systems.options import NETWORKS  # noqa: E402

NARROW, WIDE = ({name: values[end] for name, values in NETWORKS["lenet"].items()} for end in (0, -1))


def task_for(system: str, **settings: Any) -> Any:
    entry = find_system(system)
    return task_of(entry, data_of(entry.kind, grey=system == "lenet"), **settings)


def data_of(kind: str, *, grey: bool = False) -> Dataset[Any]:
    parts: dict[str, Any] = {
        "images": Images(
            np.zeros((20, 1 if grey else 3, 28 if grey else 32, 28 if grey else 32), dtype=np.uint8),
            np.arange(20) % 10,
            tuple("0123456789"),
        ),
        "reviews": Reviews(("a good film", "a bad film"), np.array([1, 0])),
        "questions": Questions((Asked("the cat sat on the mat", "who sat?", ((4, "cat"),)),) * 2),
        "recordings": Recordings((np.zeros(4000, dtype=np.float32),) * 2, 8000, ("one", "two")),
    }
    return Dataset("some", parts[kind], parts[kind], "f00d")


def by_hand(design: dict[str, Any]) -> float:
    """Two operations for each product of LeNet on 28 x 28 pixels."""
    sides, inputs, products = (28, 14, 7, 4), 1, 0.0
    for layer, side in enumerate(sides, 1):
        outputs, size = design[f"filters_{layer}"], design[f"filter_size_{layer}"]
        products += side * side * inputs * outputs * size * size
        inputs = outputs
    return 2 * (products + inputs * 84 + 84 * 10)


@pytest.mark.parametrize("design", [NARROW, WIDE])
def test_the_work_of_a_network_is_what_a_calculation_by_hand_gives(design: dict[str, Any]) -> None:
    assert work_of(task_for("lenet"), design) == pytest.approx(by_hand(design), rel=1e-3)


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "deepspeech"])
def test_the_work_of_every_network_is_counted_and_grows_with_it(system: str) -> None:
    entry = find_system(system)
    before = torch.random.get_rng_state()
    narrow, wide = (
        work_of(task_for(system), {name: values[end] for name, values in entry.options.items()}) for end in (0, -1)
    )
    assert narrow is not None
    assert wide is not None
    assert wide > 10 * narrow > 0
    assert torch.equal(torch.random.get_rng_state(), before)


def test_recurrent_networks_are_not_counted_and_so_not_refused() -> None:
    task = task_for("deepspeech")
    design = {name: values[0] for name, values in NETWORKS["deepspeech"].items()}
    assert work_of(task, design) is None
    check_training(task, design, "cpu", 1e-9, speed=DeviceSpeed(1.0, 1.0))
    check_reading(task, design, "cpu", 1e-9, batch=1, speed=DeviceSpeed(1.0, 1.0))


def test_a_training_is_three_times_its_examples_and_a_test() -> None:
    task = task_for("lenet", epochs=2)
    seconds = by_hand(NARROW) * (3 * 20 * 2 + 20) / 1e6
    speed = DeviceSpeed(math.inf, 1e6)
    check_training(task, NARROW, "cpu", 1.01 * seconds, speed=speed)
    with pytest.raises(TooSlowError, match=rf"\b{seconds:,.0f} s .*processor, .*{0.99 * seconds:g} s;"):
        check_training(task, NARROW, "cpu", 0.99 * seconds, speed=speed)
    assert issubclass(TooSlowError, DesignError)


def test_a_reading_is_one_batch_on_the_threads_that_the_design_has() -> None:
    seconds = 64 * by_hand(NARROW) / 1e6
    speed = DeviceSpeed(1e6, math.inf)
    task = task_for("lenet")
    check_reading(task, NARROW, "cpu", 1.01 * seconds, batch=64, speed=speed)
    check_reading(task, NARROW, "cpu", 2.01 * seconds, batch=64, share=0.5, speed=speed)
    for share, limit in ((1.0, 0.99 * seconds), (0.5, 1.99 * seconds)):
        with pytest.raises(TooSlowError, match=rf"batch of 64 .*lenet .*\b{seconds / share:,.0f} s .*{limit:g} s;"):
            check_reading(task, NARROW, "cpu", limit, batch=64, share=share, speed=speed)


def test_the_speed_is_that_of_the_best_attempt_and_leaves_no_trace() -> None:
    # Start, middle and end of three attempts, of which the first loads and compiles.
    times = iter([0.0, 9.0, 30.0, 30.0, 31.0, 34.0, 40.0, 42.0, 43.0])
    before = torch.random.get_rng_state()
    speed = speed_of("cpu", clock=lambda: next(times))
    work = 2 * 4 * (3 * 256 * 14) ** 2
    assert speed == DeviceSpeed(work / 1.0, 3 * work / 3.0)
    assert torch.equal(torch.random.get_rng_state(), before)
