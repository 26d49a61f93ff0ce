"""What `benchmarks.record_all` takes over from another recording: readings and times, or trainings.

Trainings of another length have the same readings, and epochs that take as long. They are read from the journal of that
recording, or from its finished table. A table has no more than its columns and its heading: numbers of seven digits,
not the number of timed steps, nor why a reading failed. Errors belong to a training: they are taken over only if just
the deployments differ, and only from a journal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from flexibo.systems.recording.columns import CURVES, FURTHER, MEASURED
from flexibo.systems.recording.journal import left_behind
from flexibo.systems.recording.plan import Plan
from flexibo.systems.recording.table import RecordedTable, read_table

TIMES = ("epoch_seconds", "test_seconds", "timed_steps")
OF_TRAINING = frozenset({"error_percent", "training_seconds", "deployed_error_percent"})
READ = tuple(name for name in (*MEASURED, *FURTHER) if name not in OF_TRAINING)
MAY_DIFFER = ("epochs", "task", "only")  # settings of another recording; the task's fingerprint has the epochs
MADE_WITH = ("date", "meter", "machine", "versions")


@dataclass(frozen=True, slots=True)
class Known:
    """What was measured of some networks."""

    networks: Sequence[Mapping[str, Any]]
    deployments: Sequence[Mapping[str, Any]]
    errors: Mapping[int, Mapping[str, Any]]  # the outcome of each training or, from a table, its times only
    readings: Mapping[tuple[int, int], Mapping[str, Any]]  # by network and deployment
    heading: Mapping[str, Any]

    @property
    def made_with(self) -> dict[str, Any]:
        """When and with what the readings were made."""
        return dict(self.heading.get("earlier") or {name: self.heading.get(name) for name in MADE_WITH})

    def in_common(self, deployments: Sequence[Mapping[str, Any]]) -> int:
        """How many of these deployments were read."""
        return sum(any(self.reading(n, one) is not None for n in range(len(self.networks))) for one in deployments)

    def reading(self, n: int, deployment: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The reading of a network in a deployment; options of which nothing was known yet are off."""
        off = dict.fromkeys(deployment, False)
        places = (d for d, known in enumerate(self.deployments) if {**off, **known} == deployment)
        return next((self.readings[n, d] for d in places if (n, d) in self.readings), None)

    def outcomes(
        self, networks: Sequence[Mapping[str, Any]], precisions: Collection[str] = ()
    ) -> dict[int, Mapping[str, Any]]:
        """The outcome of each of these networks that was trained and tested in these precisions, by its place."""
        places = {n: self.networks.index(network) for n, network in enumerate(networks) if network in self.networks}
        found = {n: self.errors[other] for n, other in places.items() if other in self.errors}
        wanted = set(precisions)
        return {n: one for n, one in found.items() if "failed" in one or wanted <= set(one.get("deployed", {}))}


def earlier(folder: Path, plan: Plan) -> Known | None:
    """Another recording of the same system and data in a folder, of some of the deployments; None if there is none."""

    def same(of: Plan) -> dict[str, Any]:
        return {name: value for name, value in of.settings.items() if name not in MAY_DIFFER}

    for other, known in _recordings(folder, plan.system):
        is_another = other.fingerprint != plan.fingerprint
        if is_another and same(other) == same(plan) and known.in_common(plan.deployments):
            return known
    return None


def same_trainings(folder: Path, plan: Plan) -> Known | None:
    """A journal in a folder of the same trainings with other deployments; None if there is none."""

    def same(of: Plan) -> dict[str, Any]:
        return {name: value for name, value in of.settings.items() if name != "only"}

    for other, known in map(_from_journal, _journals(folder, plan.system)):
        if other.deployments != plan.deployments and same(other) == same(plan):
            return known
    return None


def _recordings(folder: Path, system: str) -> Iterator[tuple[Plan, Known]]:
    """All of a system, journals first: a journal has more than the table that was made of it."""
    tables = sorted(folder.glob(f"{system}-*.csv.gz"))
    return chain(map(_from_journal, _journals(folder, system)), map(_from_table, tables))


def _journals(folder: Path, system: str) -> list[Path]:
    return sorted(folder.glob(f"{system}-*.csv.gz.partial"))


def _from_journal(path: Path) -> tuple[Plan, Known]:
    plan, journal = left_behind(path)
    return plan, Known(plan.networks, plan.deployments, journal.errors, journal.readings, journal.heading)


def _from_table(path: Path) -> tuple[Plan, Known]:
    table = read_table(path)
    networks, deployments = (_combinations(table, of) for of in (table.network_options, table.deployment_options))
    plan = Plan(str(table.heading["system"]), networks, deployments, frozenset(), table.heading["settings"])
    readings = {}
    for row in table.rows:
        place = tuple(known.index({name: row[name] for name in known[0]}) for known in (networks, deployments))
        if row["energy_joules"] is not None:  # else it failed, and is tried again
            readings[place[0], place[1]] = {name: row[name] for name in READ if row.get(name) is not None}
    times = {name: table.heading[name] for name in CURVES if name in TIMES and name in table.heading}
    errors = {
        n: {name: values[n] for name, values in times.items() if values[n] is not None} for n in range(len(networks))
    }
    return plan, Known(networks, deployments, errors, readings, table.heading)


def _combinations(table: RecordedTable, options: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """The networks or the deployments of a table, in the order of its rows."""
    distinct = dict.fromkeys(tuple(row[name] for name in options) for row in table.rows)
    return tuple(dict(zip(options, values, strict=True)) for values in distinct)
