"""One call of a recording: what is asked for, what has been done, and the table when nothing is missing."""

from __future__ import annotations

import math
import platform as python_platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path
from typing import Any

from flexibo.errors import InvalidValueError, unknown_name
from flexibo.systems.build import SystemRequest, build_runner
from flexibo.systems.network_runner import QUICK_SECONDS, NetworkRunner
from flexibo.systems.recording._train_ahead import check_jobs, train_ahead
from flexibo.systems.recording.journal import RecordingJournal, left_behind, opened
from flexibo.systems.recording.measuring import OnProgress, complete, record, recorded
from flexibo.systems.recording.plan import Plan, capped, narrowed, planned
from flexibo.systems.recording.table import write_table


@dataclass(frozen=True, slots=True)
class RecordingGrid:
    """How much is recorded.

    Attributes:
        networks: How many networks are drawn.
        deployments: How many deployments are drawn.
        again: How many combinations are read twice.
        window_seconds: How long a reading's window lasts, at least.
        at_most: The largest value that is drawn of some options of the network; widths decide what a training takes.
        only: The values, as texts, that are drawn of some options of the network or the platform.
    """

    networks: int = 64
    deployments: int = 8
    again: int = 32
    window_seconds: float = QUICK_SECONDS
    at_most: Mapping[str, float] = field(default_factory=dict)
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def recording(
    request: SystemRequest,
    grid: RecordingGrid,
    out: Path,
    *,
    seconds: float,
    jobs: int = 1,
    progress: OnProgress = lambda done, total, what: None,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Record until nothing is left or the time is over; how many measurements are left.

    Networks whose models the store has already are read first: what a stopped call has trained is of use at once.

    Args:
        request: The system, its data, its platform.
        grid: How much is recorded.
        out: The table; while it is made there is a journal beside it.
        seconds: No measurement begins after this time.
        jobs: How many networks are trained at a time, before the first reading. More than one shortens a recording of
            small networks, which leave most of a GPU idle; each training then takes longer, and the table says so.
        progress: Hears of every measurement.
        clock: Seconds.
    """
    begin = clock()
    _check_name(out)
    # A recording measures what it was asked to, however long that takes, unless a limit was named.
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
        return _recorded(plan, journal, runner, out, is_over, progress)


def finished(out: Path) -> tuple[int, int]:
    """Write the table of the networks that are complete; how many those are, and how many were planned.

    Needs nothing but the journal, and so works on any machine; what is left may still be measured afterwards.

    Raises:
        InvalidValueError: Nothing was begun, or fewer than two networks are complete.
    """
    _check_name(out)
    plan, journal = left_behind(_partial(out))
    whole = complete(plan, journal)
    if len(whole) < 2:
        raise InvalidValueError(f"{len(whole)} networks in {_partial(out)} are complete; a table needs at least two.")
    write_table(out, recorded(plan, journal, whole))
    return len(whole), len(plan.networks)


def _partial(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial")


def _check_name(out: Path) -> None:
    if out.suffixes[-2:] != [".csv", ".gz"]:
        raise InvalidValueError(f"The table is {out}; its name must end in .csv.gz.")
    if out.is_dir():
        raise InvalidValueError(f"The table is {out}, which is a folder; give the name of a file.")


def _recorded(
    plan: Plan,
    journal: RecordingJournal,
    runner: NetworkRunner,
    out: Path,
    is_over: Callable[[], bool],
    progress: OnProgress,
) -> int:
    """Go on with a recording; how many measurements are left."""
    if len(journal.errors) < len(plan.networks):
        runner.warm_up(min(plan.networks, key=lambda network: tuple(network.values())))
    record(plan, journal, runner, is_over=is_over, progress=progress)
    left = len(plan.networks) * (1 + len(plan.deployments)) - len(journal.errors) - len(journal.readings)
    if not left:
        write_table(out, recorded(plan, journal))
    return left


def plan_of(runner: NetworkRunner, grid: RecordingGrid, request: SystemRequest, made_with: Mapping[str, Any]) -> Plan:
    """What is measured: decided by the request, the data, the settings of the training, and the machine."""
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
    network, deployment = runner.system.options, runner.platform.options(runner.system.traits)
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
    """The machine and the versions: values that were made with others do not belong into the same table."""
    import numpy
    import torch

    describe = getattr(runner.meter, "describe", None)
    return {
        "meter": runner.meter.name,
        "training_only": [name for name in runner.system.options if name not in runner.system.running_options],
        "machine": dict(describe()) if describe is not None else python_platform.machine(),
        "versions": {
            "flexibo": package_version(),
            "numpy": numpy.__version__,
            "python": python_platform.python_version(),
            "torch": torch.__version__,
        },
    }


def package_version() -> str:
    """The version of this package, installed or not: systems may not import what stands above them."""
    return str(import_module(__name__.partition(".")[0]).__version__)
