"""Experiment trackers: callbacks that mirror a study elsewhere, each evaluation as a run of its own.

A tracker follows the events of a study. It sends what this process answered; when it begins, also what is missing of
workers that are gone, so that a study that was resumed, or was measured before it was tracked, is complete and nothing
is there twice. Everything is sent in the background (`_outbox.py`); an error of a tracker never reaches the study.
"""

from __future__ import annotations

import csv
import hashlib
import io
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from flexibo._internal.text import json_text
from flexibo._internal.version import __version__
from flexibo.history.events import Asked, Event, Failed, Told
from flexibo.integrations._outbox import Outbox, is_misuse
from flexibo.optimizer.stop import StopKind
from flexibo.results.front import front_picture
from flexibo.results.rows import json_row

if TYPE_CHECKING:
    from flexibo.study import Study

PATIENCE_SECONDS = 60.0
FRONT_SECONDS = 60.0  # the front is sent at most this often while a study runs
GREY = "#777777"  # readable on light and dark pages


@dataclass(frozen=True, slots=True)
class TrackedStudy:
    """What a tracker is told of a study."""

    key: str  # the same whenever the study is opened, and different for every study
    name: str
    settings: Mapping[str, Any]
    objectives: tuple[str, ...]
    place: str = ""  # where it is stored


@dataclass(frozen=True, slots=True)
class TrackedEvaluation:
    """One finished evaluation."""

    number: int
    objective: str
    design: Mapping[str, Any]
    values: Mapping[str, float]  # empty if it failed, or stopped before the last step
    cost: float
    spent: float  # by the study so far
    why: str
    expected_cost: float
    gain: float | None
    attempt: int
    began: float  # seconds since 1970
    ended: float
    reason: str = ""  # why it failed
    worker: str = ""
    is_failed: bool = False
    steps: str = ""  # of an objective with steps: from which to which it went
    curve: tuple[tuple[int, float], ...] = ()  # the values at steps that it added, ascending
    deviations: Mapping[str, float] = field(default_factory=dict)  # the standard deviations of values with error bars

    @property
    def name(self) -> str:
        """A short name: its number and what was measured."""
        return f"{self.number} {self.objective}"

    @property
    def metrics(self) -> dict[str, float]:
        """Its numbers by name; those of the study's objectives have their own names."""
        found = {"cost": self.cost, "expected cost": self.expected_cost}
        found |= {f"{name} deviation": deviation for name, deviation in self.deviations.items()}
        return {**found, **({} if self.gain is None else {"gain": self.gain}), **self.values}

    @property
    def curve_name(self) -> str:
        """What the values at steps are called: another name than that of values that count as measured."""
        return f"{self.objective} by step"

    @property
    def texts(self) -> dict[str, str]:
        """What is known of it besides numbers."""
        found = {"number": str(self.number), "objective": self.objective, "why": self.why, "worker": self.worker}
        found |= {"steps": self.steps} if self.steps else {}
        return found | {"attempt": str(self.attempt)} | ({"failed": self.reason} if self.is_failed else {})


@dataclass(frozen=True, slots=True)
class TrackedFront:
    """The front of a study, and its numbers so far."""

    files: Mapping[str, str]  # the contents by name: tables, JSON, a picture
    metrics: Mapping[str, float]
    step: int  # the number of questions so far
    time: float  # seconds since 1970


class Session(Protocol):
    """A study in a tracker. Its methods are called by one thread; any error means that nothing was recorded."""

    def recorded(self) -> set[int]:
        """The numbers of the evaluations that are there already."""

    def record(self, evaluation: TrackedEvaluation) -> None:
        """Record an evaluation as a run of its own."""

    def show(self, front: TrackedFront) -> None:
        """Replace the front."""

    def end(self, stop: StopKind | None, reason: str) -> None:
        """A run of the study ended; it may be resumed later."""


class Tracker:
    """A callback that mirrors a study in a tracker; give it to ``Study(callbacks=...)``.

    Args:
        connect: Opens the session of a study.
        name: The name of the tracker.
        is_refusal: Whether an error means that the tracker will never take something.
        patience: At the end of a run, wait at most this many seconds until everything was sent.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        connect: Callable[[TrackedStudy], Session],
        name: str,
        *,
        is_refusal: Callable[[Exception], bool] = is_misuse,
        patience: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._connect = connect
        self._name = name
        self._is_refusal = is_refusal
        self._patience = patience
        self._clock = clock
        self._followed: weakref.WeakKeyDictionary[Study, _Followed] = weakref.WeakKeyDictionary()

    def __call__(self, study: Study, event: Event) -> None:
        """Take note of an event of a study."""
        if not isinstance(event, Asked | Told | Failed):
            return
        followed = self._followed.get(study) or self._begin(study)
        if isinstance(event, Asked):
            followed.began[event.evaluation.number] = self._clock()
            return
        if event.worker == study.worker:
            self._send(followed, tracked(study, event, followed.began.pop(event.number, None), self._clock()))
            if self._clock() >= followed.front_due:
                self._send_front(study, followed)

    def flush(self, study: Study) -> None:
        """Send the front, and wait for a while until everything was sent; studies call this at the end of a run."""
        if not study.history.asked:
            return
        followed = self._followed.get(study) or self._begin(study)
        if followed.has_news:
            followed.has_news = False
            self._send_front(study, followed)
            followed.outbox.put(partial(_end, study.stop_kind, study.stopped))
        followed.outbox.flush(self._patience)

    def _begin(self, study: Study) -> _Followed:
        """Follow a study, and send what is missing of its past."""
        about = described(study)
        outbox = Outbox(lambda: _Known(self._connect(about)), self._name, is_refusal=self._is_refusal)
        followed = _Followed(outbox, front_due=self._clock() + FRONT_SECONDS)
        for evaluation in past(study, self._clock()):
            self._send(followed, evaluation)
        self._followed[study] = followed
        return followed

    def _send(self, followed: _Followed, evaluation: TrackedEvaluation) -> None:
        if evaluation.number not in followed.sent:
            followed.sent.add(evaluation.number)
            followed.has_news = True
            followed.outbox.put(partial(_record, evaluation))

    def _send_front(self, study: Study, followed: _Followed) -> None:
        followed.front_due = self._clock() + FRONT_SECONDS
        front = tracked_front(study, self._clock())
        followed.outbox.put(partial(_show, front))


@dataclass(slots=True)
class _Followed:
    """A study that is followed: what is on its way, and what was sent or is."""

    outbox: Outbox[_Known]
    front_due: float
    sent: set[int] = field(default_factory=set)
    began: dict[int, float] = field(default_factory=dict)
    has_news: bool = False


class _Known:
    """A session, and what was there when it was opened."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.numbers = session.recorded()


def _record(evaluation: TrackedEvaluation, known: _Known) -> None:
    if evaluation.number not in known.numbers:
        known.session.record(evaluation)
        known.numbers.add(evaluation.number)


def _show(front: TrackedFront, known: _Known) -> None:
    known.session.show(front)


def _end(stop: StopKind | None, reason: str, known: _Known) -> None:
    known.session.end(stop, reason)


def described(study: Study) -> TrackedStudy:
    """A study as trackers describe it."""
    first = study.history.asked[0]  # its token is random, so no other study has the same
    identity = [study.name, first.token, dict(first.design), first.objective]
    settings = {
        "method": study.method.name,
        "options": ", ".join(study.space.names),
        "objectives": ", ".join(study.history.names),
        "budget": study.budget,
        "seed": study.settings.seed,
        "flexibo": __version__,
    }
    key = hashlib.sha256(json_text(identity).encode()).hexdigest()[:16]
    return TrackedStudy(key, study.name, settings, study.history.names, study.place)


def past(study: Study, now: float) -> Iterator[TrackedEvaluation]:
    """What was answered so far by this process and by workers that are gone; the others record theirs themselves."""
    answers = [event for event in study.history.events if isinstance(event, Told | Failed)]
    others = study.live_workers() if any(event.worker != study.worker for event in answers) else frozenset()
    spent = 0.0
    for event in answers:
        spent += event.cost
        if event.worker not in others:
            yield tracked(study, event, None, now, spent=spent)


def tracked(
    study: Study, event: Told | Failed, began: float | None, now: float, *, spent: float | None = None
) -> TrackedEvaluation:
    """An answer as trackers record it; where its beginning is not known, it follows from its cost if that is a time."""
    asked = study.history.asked[event.number]
    values = dict(event.values) if isinstance(event, Told) else {}
    last = {} if asked.stop is None or not values else {asked.stop: values[asked.objective]}
    is_partial = study.history.is_partial(asked)
    bars = event.noise if isinstance(event, Told) and not is_partial else {}
    return TrackedEvaluation(
        number=event.number,
        objective=asked.objective,
        design=dict(asked.design),
        values={} if is_partial else values,
        cost=event.cost,
        spent=study.history.spent if spent is None else spent,
        why=asked.why,
        expected_cost=asked.cost,
        gain=asked.gain,
        attempt=asked.attempt,
        began=now - (event.cost if event.timed else 0.0) if began is None else began,
        ended=now,
        reason="" if isinstance(event, Told) else event.reason,
        worker=event.worker,
        is_failed=isinstance(event, Failed),
        steps="" if asked.stop is None else f"{asked.start} to {asked.stop}",
        curve=(*event.reports, *last.items()),
        deviations={name: deviation for name, (deviation, _) in bars.items()},
    )


def tracked_front(study: Study, now: float) -> TrackedFront:
    """The front of a study as files and numbers."""
    found, summary = study.hand_over(), study.summary()
    files = {
        "front.csv": csv_text(found.front.records()),
        "front.json": json_text([json_row(row) for row in found.front], indent=2),
        "front.svg": front_picture(found.front, colour=GREY),
        "promising.csv": csv_text(found.promising.records()),
        "summary.txt": f"{summary}\n",
    }
    metrics = {
        "spent": summary.spent,
        "front": float(summary.front),
        "hypervolume": summary.hypervolume,
        "failures": float(sum(summary.failures.values())),
    }
    shown = {name: text for name, text in files.items() if text}
    return TrackedFront(shown, metrics, len(study.history.asked), now)


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Records as CSV; an empty text without any."""
    if not records:
        return ""
    lines = io.StringIO()
    writer = csv.DictWriter(lines, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return lines.getvalue()
