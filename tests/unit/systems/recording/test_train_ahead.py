"""Networks trained ahead are in the store."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flexibo.errors import InvalidValueError
from flexibo.systems.build import SystemRequest, build_runner
from flexibo.systems.recording.session import check_jobs, train_ahead


def test_several_at_a_time_need_a_folder_that_keeps_the_models() -> None:
    request = SystemRequest("lenet", Path("data"), models=None)
    check_jobs(1, request)
    check_jobs(2, replace(request, models=Path("models")))
    with pytest.raises(InvalidValueError, match="give --models"):
        check_jobs(2, request)
    with pytest.raises(InvalidValueError, match="at least 1"):
        check_jobs(0, request)


@pytest.mark.slow
@pytest.mark.torch
def test_networks_trained_ahead_are_found_in_the_store(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for part, count in (("train", 64), ("t10k", 16)):
        write_idx(tmp_path / f"{part}-images-idx3-ubyte.gz", rng.integers(0, 256, (count, 28, 28), dtype=np.uint8))
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", (np.arange(count) % 10).astype(np.uint8))
    request = SystemRequest(
        "lenet", tmp_path, platform="linux-cpu", dataset="mnist", epochs=1, models=tmp_path / "models"
    )
    networks = [
        {f"{what}_{layer}": value for layer in range(1, 5) for what, value in (("filters", 16), ("filter_size", size))}
        for size in (1, 3)
    ]
    train_ahead(request, networks, 1, lambda: False)
    runner = build_runner(replace(request, objectives=("error_percent",)))
    assert all(runner.store.get(runner.task, network, seed=0) is not None for network in networks)
    train_ahead(replace(request, seed=1), networks, 2, lambda: True)
    assert all(runner.store.get(runner.task, network, seed=1) is None for network in networks)


def write_idx(path: Path, values: np.ndarray) -> None:
    """The file format of MNIST: two zero bytes, the type, the number of axes, their lengths, the bytes."""
    lengths = b"".join(length.to_bytes(4, "big") for length in values.shape)
    path.write_bytes(gzip.compress(bytes([0, 0, 8, values.ndim]) + lengths + values.tobytes()))
