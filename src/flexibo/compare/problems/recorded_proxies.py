"""Recorded tables in which a cheaper data set stands in for the one that counts.

NAS-Bench-201's cells, trained on ImageNet16-120 or on CIFAR-100, with a training on half of CIFAR-10's training images
as the proxy (its validation error, at its recorded time). The published training times on ImageNet16-120 are 3.034
times those on all of CIFAR-10, those on CIFAR-100 the same: a proxy costs a sixth and half of its objective.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from flexibo.compare.problems.base import Family, Problem, Proxy
from flexibo.compare.problems.datasets import OPERATIONS, data_folder, table_path
from flexibo.compare.problems.recorded_tables import RECIPES, Lookup, read_table, recorded_problem
from flexibo.errors import InvalidValueError

OBJECTIVE, PROXY = "error_percent", "error_cifar10_percent"
COLUMN, SECONDS = "val_error_cifar10valid_pct", "train_time_cifar10valid_s"
GROUP = "proxy"


def proxy_problem(name: str, recipe: str, *, folder: Path | None = None) -> Problem:
    """The problem of a recipe with the proxy CIFAR-10, read from a folder of data."""
    folder = data_folder() if folder is None else folder
    (own,) = (one for one in RECIPES if one.name == recipe)
    base = recorded_problem(own, folder=folder)
    path = table_path("nb201", folder)
    table = read_table(path, OPERATIONS, [COLUMN], costs=[SECONDS])
    if np.isnan(table.numbers).any():
        line = table.lines[int(np.flatnonzero(np.isnan(table.numbers).any(axis=1))[0])]
        raise InvalidValueError(f"Line {line} of {path} lacks {COLUMN} or {SECONDS}; every cell needs both.")
    varying = [table.options[name] for name in base.space.names]
    cells = [dict(zip(base.space.names, row, strict=True)) for row in zip(*varying, strict=True)]
    designs = base.space.designs(cells)
    values, costs = (Lookup.of(designs, table.numbers[:, [j]]) for j in range(2))
    return replace(
        base,
        name=name,
        summary=f"{base.summary}, with the error on CIFAR-10 as a proxy",
        group=GROUP,
        proxies=(Proxy(PROXY, OBJECTIVE, values, costs),),
    )


FAMILIES: tuple[Family, ...] = tuple(
    Family(name, summary, partial(proxy_problem, name, recipe), group=GROUP)
    for name, recipe, summary in (
        (
            "nb201-imagenet-proxy",
            "nb201-imagenet-gpu",
            "NAS-Bench-201 cells on ImageNet16-120: error and latency on a GPU; proxy: error on CIFAR-10",
        ),
        (
            "nb201-cifar100-proxy",
            "nb201-cifar100-pi4",
            "NAS-Bench-201 cells on CIFAR-100: error and latency on a Raspberry Pi 4; proxy: error on CIFAR-10",
        ),
    )
)
