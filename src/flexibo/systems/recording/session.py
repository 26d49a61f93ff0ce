"""One call of a recording: build the plan, measure what is missing, and write the table when it is complete."""

from __future__ import annotations

import math
import multiprocessing
import platform as python_platform
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path
from typing import Any

from flexibo.errors import DesignError, InvalidValueError, unknown_name
from flexibo.systems.build import SystemRequest, build_runner
from flexibo.systems.dnn import ERROR
from flexibo.systems.network_runner import QUICK_SECONDS, NetworkRunner
from flexibo.systems.recording.journal import left_behind, opened
from flexibo.systems.recording.measuring import OnProgress, complete, record, recorded
from flexibo.systems.recording.plan import Plan, capped, narrowed, planned
from flexibo.systems.recording.table import write_table


@dataclass(frozen=True, slots=True)
class RecordingGrid:
    """The size of a recording."""

    networks: int = 64  # the number of sampled networks
    deployments: int = 8  # the number of sampled deployments
    again: int = 32  # the number of combinations that are measured twice
    window_seconds: float = QUICK_SECONDS  # the shortest length of a reading
    at_most: Mapping[str, float] = field(default_factory=dict)  # the largest values of some options
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the allowed values, as texts


def recording(
    request: SystemRequest,
    grid: RecordingGrid,
    out: Path,  # the table; its journal is next to it until it is complete
    *,
    seconds: float,  # no measurement starts after this time
    jobs: int = 1,  # networks trained at a time, before the first reading; the table notes it
    progress: OnProgress = lambda done, total, what: None,  # called after each measurement
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Record until nothing is left or the time is over; returns the number of measurements left.

    Networks with models in the store are measured first, so that the trainings of a stopped call are used at once.
    """
    begin = clock()
    _check_name(out)
    # A recording has no time limit per measurement unless one was requested.
    longest = math.inf if request.longest_seconds is None else request.longest_seconds
    request = replace(request, longest_seconds=longest)
    check_jobs(jobs, request)
    runner = replace(build_runner(request), window_seconds=grid.window_seconds)
    made_with = {**described(runner), "trained_at_once": jobs}
    plan = plan_of(runner, grid, request, made_with)
    heading = {**made_with, "date": datetime.now(timezone.utc).strftime("%Y-%m-%d")}

    def is_over() -> bool:
        return clock() - begin > seconds

    with opened(_partial(out), plan, heading) as journal:
        ready = [n for n, network in enumerate(plan.networks) if n in journal.errors or runner.is_trained(network)]
        record(plan, journal, runner, among=ready, is_over=is_over, progress=progress)
        untrained = [network for n, network in enumerate(plan.networks) if n not in journal.errors]
        if jobs > 1 and untrained:
            train_ahead(request, untrained, jobs, is_over)
        if len(journal.errors) < len(plan.networks):
            runner.warm_up(min(plan.networks, key=lambda network: tuple(network.values())))
        record(plan, journal, runner, is_over=is_over, progress=progress)
        left = len(plan.networks) * (1 + len(plan.deployments)) - len(journal.errors) - len(journal.readings)
        if not left:
            write_table(out, recorded(plan, journal))
        return left


def finished(out: Path) -> tuple[int, int]:
    """Write the table of the complete networks, from the journal alone; returns their number and the number planned."""
    _check_name(out)
    plan, journal = left_behind(_partial(out))
    whole = complete(plan, journal)
    if len(whole) < 2:
        raise InvalidValueError(f"{len(whole)} networks in {_partial(out)} are complete; a table needs at least two.")
    try:
        write_table(out, recorded(plan, journal, whole))
    except OSError as error:
        raise InvalidValueError(f"{out} cannot be written: {error.strerror or error}; give another --out.") from error
    return len(whole), len(plan.networks)


def _partial(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial")


def _check_name(out: Path) -> None:
    if out.suffixes[-2:] != [".csv", ".gz"]:
        raise InvalidValueError(f"The table is {out}; its name must end in .csv.gz.")
    if out.is_dir():
        raise InvalidValueError(f"The table is {out}, which is a folder; give the name of a file.")


def plan_of(runner: NetworkRunner, grid: RecordingGrid, request: SystemRequest, made_with: Mapping[str, Any]) -> Plan:
    """The plan, from the request, the data, the settings of the training, and the machine."""
    data = runner.task.data
    settings = {
        "platform": runner.platform.name,
        "dataset": data.name,
        "training_examples": len(data.train),
        "test_examples": len(data.test),
        "task": runner.task.fingerprint,
        "window_seconds": grid.window_seconds,
        "at_most": dict(grid.at_most),
        "only": {name: list(values) for name, values in grid.only.items()},
        "made_with": dict(made_with),
    }
    network = runner.system.options
    deployment: dict[str, Any] = {
        **runner.platform.options(runner.system.traits),
        **{knob.name: knob.values() for knob in runner.knobs},
    }
    for name in grid.only:
        if name not in {**network, **deployment}:
            raise unknown_name("option", name, {**network, **deployment})
    return planned(
        runner.system.name,
        narrowed(capped(network, grid.at_most), grid.only),
        narrowed(deployment, grid.only),
        networks=grid.networks,
        deployments=grid.deployments,
        again=grid.again,
        settings=settings,
        seed=request.seed,
    )


def described(runner: NetworkRunner) -> dict[str, Any]:
    """The machine and the versions: values made with others do not belong in the same table."""
    import numpy
    import torch

    describe = getattr(runner.meter, "describe", None)
    return {
        "meter": runner.meter.name,
        "training_only": [name for name in runner.system.options if name not in runner.system.running_options],
        "machine": dict(describe()) if describe is not None else python_platform.machine(),
        "versions": {
            # Imported late: systems must not import the package above them.
            "flexibo": str(import_module(__name__.partition(".")[0]).__version__),
            "numpy": numpy.__version__,
            "python": python_platform.python_version(),
            "torch": torch.__version__,
        },
    }


_runner: list[NetworkRunner] = []  # the runner of a process of the pool


def check_jobs(jobs: int, request: SystemRequest) -> None:
    """Raise an error if this number of networks cannot be trained at a time."""
    if jobs < 1:
        raise InvalidValueError(f"{jobs} networks are to be trained at a time; it must be at least 1.")
    if jobs > 1 and request.models is None:
        raise InvalidValueError(
            f"{jobs} networks are to be trained at a time, and no folder keeps them for the readings; give --models."
        )


def train_ahead(
    request: SystemRequest, networks: Sequence[Mapping[str, Any]], jobs: int, is_over: Callable[[], bool]
) -> None:
    """Train networks into the store, `jobs` at a time; no training starts once the time is over.

    One training of a small network leaves most of a GPU idle. What cannot be trained is requested again later.
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


def _prepare(request: SystemRequest, network: Mapping[str, Any]) -> None:
    """Prepare a process: its first training step imports and compiles for seconds."""
    _runner.append(build_runner(request))
    _runner[0].warm_up(network)


def _train(network: Mapping[str, Any]) -> None:
    with suppress(DesignError):
        _runner[0].error(network)
