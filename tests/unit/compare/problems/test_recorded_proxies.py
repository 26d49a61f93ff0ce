from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from flexibo.compare.problems.datasets import OPERATIONS
from flexibo.compare.problems.recorded_proxies import proxy_problem
from flexibo.errors import InvalidValueError

CELLS = [(*cell, "none", "none", "none") for cell in product(("none", "skip"), repeat=3)]


def write(folder: Path, *, empty: bool = False) -> Path:
    (folder / "recorded").mkdir(exist_ok=True)
    header = ",".join(OPERATIONS)
    rows = [f"{','.join(cell)},{50 + i},{6000 + i},{10 - i}" for i, cell in enumerate(CELLS)]
    (folder / "recorded/nb201_imagenet.csv").write_text(
        "\n".join([f"{header},error_pct,train_time_s,gpu_latency_ms", *rows])
    )
    rows = [f"{','.join(cell)},{'' if empty else 5 + i},{1000 + i}" for i, cell in reversed(list(enumerate(CELLS)))]
    (folder / "recorded/nb201_cifar10_hw.csv").write_text(
        "\n".join([f"{header},val_error_cifar10valid_pct,train_time_cifar10valid_s", *rows])
    )
    return folder


def test_the_proxy_of_a_cell_is_found_by_its_operations(tmp_path: Path) -> None:
    problem = proxy_problem("toy", "nb201-imagenet-gpu", folder=write(tmp_path))
    (proxy,), designs = problem.proxies, problem.space.enumerate()
    assert (proxy.of, problem.group) == ("error_percent", "proxy")
    errors = problem.values(designs)[:, 0]
    assert np.array_equal(proxy.values(designs)[:, 0], errors - 45)
    assert np.array_equal(proxy.costs(designs)[:, 0], errors + 950)


def test_a_cell_without_a_proxy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"Line 2 of .*nb201_cifar10_hw.csv lacks"):
        proxy_problem("toy", "nb201-imagenet-gpu", folder=write(tmp_path, empty=True))
