"""Measure a plan, one network after the other, and make the table; nothing is measured again after a restart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from flexibo.errors import DesignError
from flexibo.systems.network_runner import NetworkRunner
from flexibo.systems.recording.columns import CURVES, FURTHER, MEASURED
from flexibo.systems.recording.journal import RecordingJournal
from flexibo.systems.recording.plan import Options, Plan
from flexibo.systems.recording.table import RecordedTable

OnProgress = Callable[[int, int, str], object]  # the number of finished measurements, of all, and the last as text


def record(
    plan: Plan,
    journal: RecordingJournal,
    runner: NetworkRunner,
    *,
    among: Collection[int] | None = None,
    is_over: Callable[[], bool] = lambda: False,
    progress: OnProgress = lambda done, total, what: None,
) -> bool:
    """Measure what is missing, of all networks or `among` some; returns whether these networks are complete.

    A network that cannot be trained, or not run in a deployment, leaves empty cells, and the recording continues. A
    fault of the machine (a meter that fails, a full disk) is raised: the same call resumes once it is fixed. `is_over`
    is called before each measurement.
    """
    total = len(plan.networks) * (1 + len(plan.deployments))
    for n in range(len(plan.networks)) if among is None else sorted(among):
        network = plan.networks[n]
        if n not in journal.errors:
            if is_over():
                return False
            outcome = _outcome(lambda network=network: runner.error(network))  # type: ignore[misc]  # bound at once
            journal.add_error(n, outcome)
            progress(len(journal.errors) + len(journal.readings), total, _line("trained", network, outcome))
        for d, deployment in enumerate(plan.deployments):
            if (n, d) in journal.readings:
                continue
            if is_over():
                return False
            outcome = _reading(runner, network, deployment, twice=(n, d) in plan.again)
            journal.add_reading(n, d, outcome)
            progress(len(journal.errors) + len(journal.readings), total, _line("read", deployment, outcome))
    return True


def complete(plan: Plan, journal: RecordingJournal) -> list[int]:
    """The indices of the networks that are completely measured."""
    every = range(len(plan.deployments))
    return [
        n for n in range(len(plan.networks)) if n in journal.errors and all((n, d) in journal.readings for d in every)
    ]


def recorded(plan: Plan, journal: RecordingJournal, among: Sequence[int] | None = None) -> RecordedTable:
    """The table of the measurements, of all networks or `among` some."""
    among = range(len(plan.networks)) if among is None else among
    rows = []
    for n in among:
        network = plan.networks[n]
        for d, deployment in enumerate(plan.deployments):
            measured = {**journal.errors.get(n, {}), **journal.readings.get((n, d), {})}
            further = {name: measured[name] for name in FURTHER if name in measured}
            rows.append({**network, **deployment, **{name: measured.get(name) for name in MEASURED}, **further})
    networks, deployments = plan.networks[0], plan.deployments[0]
    values = {
        name: sorted({row[name] for row in rows}, key=lambda value: (str(type(value)), value))
        for name in (*networks, *deployments)
    }
    heading = {
        **journal.heading,
        "system": plan.system,
        "settings": dict(plan.settings),
        "network_options": list(networks),
        "deployment_options": list(deployments),
        "values": values,
        "trained_on": trained_on(journal, among),
        "networks_planned": len(plan.networks),
        **_curves(journal, among),
    }
    return RecordedTable(heading, tuple(rows))


def _curves(journal: RecordingJournal, among: Sequence[int]) -> dict[str, Any]:
    """The errors after each epoch, and the times of an epoch and of a test, by network; empty if none were kept."""
    outcomes = [journal.errors.get(n, {}) for n in among]
    if not any(CURVES[0] in outcome for outcome in outcomes):
        return {}
    return {name: [outcome.get(name) for outcome in outcomes] for name in CURVES}


def trained_on(journal: RecordingJournal, among: Sequence[int]) -> dict[str, list[int]]:
    """The networks that each machine has trained, as indices in the table: stored models may come from another one."""
    found: dict[str, list[int]] = {}
    for place, n in enumerate(among):
        machine = journal.errors.get(n, {}).get("trained_on")
        if machine:
            found.setdefault(str(machine), []).append(place)
    return found


def _reading(runner: NetworkRunner, network: Options, deployment: Options, *, twice: bool) -> dict[str, Any]:
    outcome = _outcome(lambda: runner.reading(network, deployment))
    if twice and "failed" not in outcome:
        again = _outcome(lambda: runner.reading(network, deployment))
        outcome["energy_joules_again"] = again.get("energy_joules")
    return outcome


def _outcome(measure: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    try:
        return dict(measure())
    except DesignError as error:
        return {"failed": str(error)}


def _line(what: str, options: Options, outcome: Mapping[str, Any]) -> str:
    shown = ", ".join(f"{name}={value}" for name, value in options.items())
    numbers = {name: value for name, value in outcome.items() if isinstance(value, float) and value}
    found = outcome.get("failed") or ", ".join(f"{name} {value:.4g}" for name, value in numbers.items())
    return f"{what} {shown}: {found}"
