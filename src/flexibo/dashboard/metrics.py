"""The numbers of all studies for monitoring: Prometheus text, and whether the storages can be read."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flexibo._internal.text import printable_line
from flexibo.dashboard.follower import Follower, GrowingCopy
from flexibo.dashboard.watcher import StorageWatcher, Watcher
from flexibo.transfer import STATES
from flexibo.transfer.evaluations import REACHED
from flexibo.transfer.study_copies import time_of
from flexibo.views.front import confirmed_count

TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
FRESH_SECONDS = 10.0  # a storage that was read at most this long ago is not read again for a request
STALE_SECONDS = 120.0  # a storage that could not be read for this long, though nothing reports a problem, is not up
METRICS = {
    "flexibo_storage_up": "Whether the storage could be read at the last attempt.",
    "flexibo_study_up": "Whether the study could be read completely.",
    "flexibo_evaluations": "Evaluations by the objective that was asked for and their state.",
    "flexibo_spent": "Cost spent so far, in the unit of the study's costs.",
    "flexibo_budget": "Budget, in the unit of the study's costs; absent without one.",
    "flexibo_stopped": "Whether the last run of the study ended: by its budget, a stop rule, its method or its user.",
    "flexibo_workers_alive": "Workers that gave a sign of life within their lease.",
    "flexibo_queued_designs": "Designs that were queued and are not measured completely.",
    "flexibo_confirmed_designs": "Completely measured designs on the front.",
    "flexibo_last_event_age_seconds": "Seconds since the last event, by the clocks of its writer and of this machine.",
}
"""Every metric with its meaning, in the order of the text; all are gauges."""
Sample = tuple[str, Mapping[str, str], float]


@dataclass(frozen=True, slots=True)
class _StudyNumbers:
    """The numbers of one version of a study."""

    evaluations: Mapping[tuple[str, str], int]  # by objective and state
    spent: float
    budget: float | None
    stopped: bool
    queued: int
    confirmed: int
    last_event: float | None  # seconds since 1970; None if it is not known

    @classmethod
    def of(cls, copy: GrowingCopy) -> _StudyNumbers:
        history = copy.study.history
        counts = Counter((record.objective, record.state) for record in copy.records)
        return cls(
            {
                (own.name, state): counts[own.name, state]
                for own in history.objectives
                for state in (*STATES, *([REACHED] if own.stops else []))
            },
            history.spent,
            history.budget,
            history.stopped is not None,
            len(history.queue),
            confirmed_count(copy.study),
            time_of(copy.last),
        )


class Metrics:
    """The metrics of all studies that a dashboard watches; what needs work is computed once per version of a study."""

    def __init__(self, watcher: Watcher, *, now: Callable[[], float] = time.time) -> None:
        self._watcher = watcher
        self._now = now
        self._known: dict[str, tuple[str, _StudyNumbers]] = {}

    def text(self) -> str:
        """All metrics in the text format of Prometheus."""
        values: dict[str, dict[str, float]] = {name: {} for name in METRICS}  # no label set may come twice
        for name, labels, value in self._samples():
            values[name][_labels(labels)] = value
        return "".join(line for name in METRICS for line in _lines(name, values[name]))

    def health(self) -> dict[str, Any]:
        """Whether all storages can be read, ready for JSON."""
        followers = [follower for follower, _ in self._watcher.followers().values()]
        return {
            "status": "ok" if all(_is_up(storage) for storage in self._watcher.storages) else "failing",
            "storages": [storage.summary() for storage in self._watcher.storages],
            "studies": len(followers),
            "unreadable_studies": sum(bool(follower.problem) for follower in followers),
        }

    def _samples(self) -> Iterator[Sample]:
        followers = self._watcher.followers()
        self._known = {key: known for key, known in self._known.items() if key in followers}
        names = _storage_names(self._watcher)
        for storage, name in names.items():
            yield "flexibo_storage_up", {"storage": name}, float(_is_up(storage))
        for follower, storage in followers.values():
            labels = {"storage": names[storage], "study": follower.name}
            yield from self._samples_of(follower, labels)

    def _samples_of(self, follower: Follower, labels: Mapping[str, str]) -> Iterator[Sample]:
        with follower.lock:
            is_read = follower.copy is not None and not follower.is_reading
            numbers = self._numbers(follower) if is_read else None
            alive = follower.workers_alive()
        yield "flexibo_study_up", labels, float(is_read and not follower.problem)
        if numbers is None:
            return
        for (objective, state), number in numbers.evaluations.items():
            yield "flexibo_evaluations", {**labels, "objective": objective, "state": state}, number
        yield "flexibo_spent", labels, numbers.spent
        if numbers.budget is not None:
            yield "flexibo_budget", labels, numbers.budget
        yield "flexibo_stopped", labels, float(numbers.stopped)
        yield "flexibo_workers_alive", labels, alive
        yield "flexibo_queued_designs", labels, numbers.queued
        yield "flexibo_confirmed_designs", labels, numbers.confirmed
        if numbers.last_event is not None:
            yield "flexibo_last_event_age_seconds", labels, max(0.0, self._now() - numbers.last_event)

    def _numbers(self, follower: Follower) -> _StudyNumbers:
        version, numbers = self._known.get(follower.id, ("", None))
        if numbers is None or version != follower.version:
            assert follower.copy is not None
            numbers = _StudyNumbers.of(follower.copy)
            self._known[follower.id] = follower.version, numbers
        return numbers


def is_fresh(watcher: Watcher) -> bool:
    """Whether an attempt to read each storage ended lately."""
    ages = [storage.seconds_since_attempt() for storage in watcher.storages]
    return all(age is not None and age <= FRESH_SECONDS for age in ages)


def _is_up(storage: StorageWatcher) -> bool:
    age = storage.seconds_since_read()
    return not storage.problem and age is not None and age <= STALE_SECONDS


def _storage_names(watcher: Watcher) -> dict[StorageWatcher, str]:
    """The storages as messages show them; without their passwords several may look the same."""
    names: dict[StorageWatcher, str] = {}
    for storage in watcher.storages:
        same = sum(other.shown == storage.shown for other in names)
        names[storage] = f"{storage.shown}#{same}" if same else storage.shown
    return names


def _lines(name: str, values: Mapping[str, float]) -> Iterator[str]:
    if values:
        yield f"# HELP {name} {METRICS[name]}\n# TYPE {name} gauge\n"
    for labels, value in values.items():
        yield f"{name}{{{labels}}} {_number(value)}\n"


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{label_text(value)}"' for name, value in labels.items())


def label_text(value: str) -> str:
    r"""A text as the value of a label: whatever it holds, it stays within its quotes and on its line.

    >>> label_text('a"} 1' + "\n\\"), label_text("é\x1b\ud800")
    ('a\\"} 1\\n\\\\', 'é\\\\x1b\\\\ud800')
    """
    escapes = {"\\": r"\\", '"': r"\"", "\n": r"\n"}
    return "".join(escapes.get(c) or printable_line(c).replace("\\", r"\\") for c in value)


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value)) if value != int(value) else str(int(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
