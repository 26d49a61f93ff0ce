"""Training of several networks at a time into the model store, before a recording measures energy.

The training of a small network leaves most of a GPU idle; several processes use it fully. Energy is measured
afterwards, when nothing else runs.
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
"""The runner of a process of the pool."""


def check_jobs(jobs: int, request: SystemRequest) -> None:
    """Raise an error if this number of networks cannot be trained at a time."""
    if jobs < 1:
        raise InvalidValueError(f"{jobs} networks are to be trained at a time; it must be at least 1.")
    if jobs > 1 and request.models is None:
        raise InvalidValueError(
            f"{jobs} networks are to be trained at a time, and no folder keeps them for the readings; give --models."
        )


def train_ahead(request: SystemRequest, networks: Sequence[Options], jobs: int, is_over: Callable[[], bool]) -> None:
    """Train networks into the store, `jobs` at a time; no training starts once the time is over.

    A network that cannot be trained is not an error here: the recording requests it again and gets the reason.
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
    """Prepare a process: its first training step imports and compiles for seconds."""
    _runner.append(build_runner(request))
    _runner[0].warm_up(network)


def _train(network: Options) -> None:
    with suppress(DesignError):
        _runner[0].error(network)
