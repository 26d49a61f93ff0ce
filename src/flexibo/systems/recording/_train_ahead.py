"""Several networks trained at a time, into the store of models, before a recording reads the first energy.

A small network's training starts kernels one by one and leaves most of a GPU idle; several processes fill it. Energy is
read afterwards, when nothing else runs.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from flexibo.errors import DesignError, InvalidValueError
from flexibo.systems.build import SystemRequest, build_runner
from flexibo.systems.dnn import ERROR
from flexibo.systems.recording.plan import Options

if TYPE_CHECKING:
    from flexibo.systems.network_runner import NetworkRunner

_runner: list[NetworkRunner] = []
"""In a process of the pool: what it trains with."""


def check_jobs(jobs: int, request: SystemRequest) -> None:
    """Raise an error if so many cannot be trained at a time."""
    if jobs < 1:
        raise InvalidValueError(f"{jobs} networks are to be trained at a time; it must be at least 1.")
    if jobs > 1 and request.models is None:
        raise InvalidValueError(
            f"{jobs} networks are to be trained at a time, and no folder keeps them for the readings; give --models."
        )


def train_ahead(request: SystemRequest, networks: Sequence[Options], jobs: int, is_over: Callable[[], bool]) -> None:
    """Train networks into the store, so many at a time; none begins once the time is over.

    A network that cannot be trained is no error here: the recording asks for it again, and hears why.
    """
    waiting, running = list(networks)[::-1], set[Future[None]]()
    smallest = min(networks, key=lambda network: tuple(network.values()), default={})
    how = (replace(request, objectives=(ERROR,)), smallest)
    fork_free = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
    with ProcessPoolExecutor(jobs, fork_free, _prepare, how) as pool:
        while running or (waiting and not is_over()):
            while waiting and len(running) < jobs and not is_over():
                running.add(pool.submit(_train, waiting.pop()))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()


def _prepare(request: SystemRequest, network: Options) -> None:
    """Get ready: a process's first training imports and compiles for seconds, which belong to no network."""
    _runner.append(build_runner(request))
    _runner[0].warm_up(network)


def _train(network: Options) -> None:
    with suppress(DesignError):
        _runner[0].error(network)
