"""The state of a history as arrays and JSON: what a snapshot holds, so that opening a study need not replay its events.

Everything here follows from the events. Two versions of the library may derive different things from them, so a state
is used only by the version that wrote it, in the format that it wrote.
"""

from __future__ import annotations

import io
import json
import zipfile
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flexibo._internal.arrays import AnyArray, IntArray
from flexibo.errors import InvalidValueError
from flexibo.history._records import DesignSeries
from flexibo.history._sequences import Load
from flexibo.history.events import Stopped
from flexibo.history.measurements import Assignment, FollowUp, QueuedDesign

if TYPE_CHECKING:
    from flexibo.history.history import History

FORMAT = 5
FACTS = "facts"
BYTES_PER_EVENT = 2_000  # a state is at most this large, beside `BYTES_BESIDE`; a larger one is not read
BYTES_BESIDE = 10_000_000
SERIES = ("costs", "failure_costs", "least_costs")
COUNTERS = ("reissues", "failed_attempts", "failed_in_a_row", "told")
PLAIN = (
    "spent",
    "budget",
    "reference",
    "is_reference_found",
    "free_in_a_row",
    "last_reason",
    "enqueued",
    "timed",
    "stop",
    "chosen",
    "origin",
    "changes",
    "rules",
)


def packed(history: History) -> bytes:
    """What follows from the events of a history so far, for `restore`."""
    arrays: dict[str, AnyArray] = {
        "codes": history.known_designs.codes,
        "asked": np.asarray(history.asked.at),
        "measurements": np.asarray(history.measurements.at),
        "charges": np.asarray(history.charges.at),
        "charged": np.asarray(history.charges.objectives),
        "charge_costs": np.asarray(history.charges.costs),
        "scored": np.array(history.scored, dtype=np.int64),
        "answered": np.array(list(history.answered), dtype=np.int64),
    }
    workers = {worker: code for code, worker in enumerate(dict.fromkeys(history.answered.values()))}
    arrays["answerers"] = np.array([workers[worker] for worker in history.answered.values()], dtype=np.int64)
    facts: dict[str, Any] = {"format": FORMAT, "events": len(history.events), "workers": list(workers)}
    facts |= {name: getattr(history, name) for name in PLAIN}
    facts["settings"] = history.settings if history.changes else None
    facts |= {name: list(getattr(history, name).items()) for name in COUNTERS}
    facts["assignments"] = [(n, one.worker, one.seconds, one.token) for n, one in history.assignments.items()]
    facts["pending"] = list(history.pending)
    facts["initial"] = [dict(design) for design in history.initial]
    facts["follow_ups"] = [(dict(one.design), one.objectives, one.initial) for one in history.follow_ups]
    facts["queue"] = [(q.number, dict(q.design), q.objectives, q.readings, q.why) for q in history.queue]
    facts["stopped"] = None if history.stopped is None else (history.stopped.kind, history.stopped.reason)
    facts["later_tokens"] = list(history._later_tokens.items())
    arrays["payments"] = np.array(history._payments.pairs(), dtype=np.int64).reshape(-1, 2)
    facts["lost"] = [(*key, cost) for key, cost in history._lost.items()]
    facts["bars"] = [list(record.bars.items()) for record in history._objective_records]
    facts["point_bars"] = [list(curves.bars.items()) for curves in history._curves]
    facts["purchases"] = []
    for p, record in enumerate(history._purchase_records):
        for name in SERIES:
            _pack_series(history, arrays, f"{name}-{p}", getattr(record, name))
        arrays[f"spans-{p}"], arrays[f"measured-{p}"] = np.asarray(record.spans), _keys(record.measured)
        arrays[f"pending-{p}"], arrays[f"pending-count-{p}"] = _keys(record.pending), _counts(record.pending)
        facts["purchases"].append(
            {
                "failures": list(record.failures.items()),
                "reasons": [(key, sorted(reasons)) for key, reasons in record.reasons.items()],
                "given_up": list(record.given_up),
                "impossible": list(record.impossible),
            }
        )
    for j, found in enumerate(history._objective_records):
        _pack_series(history, arrays, f"losses-{j}", found.losses)
        arrays[f"keys-{j}"], arrays[f"counts-{j}"] = _keys(found.counts), _counts(found.counts)
        arrays[f"latest-{j}"] = np.array([found.latest[key] for key in found.counts])
        arrays[f"first-{j}"] = np.array([found.first[key][0] for key in found.counts], dtype=np.int64)
        arrays[f"first-loss-{j}"] = np.array([found.first[key][1] for key in found.counts])
        if history.objectives[j].stops:
            _pack_series(history, arrays, f"points-{j}", history._curves[j].losses)
            arrays[f"steps-{j}"] = np.asarray(history._curves[j].steps)
    arrays[FACTS] = np.frombuffer(json.dumps(facts, allow_nan=False).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def restore(history: History, state: bytes, *, events: int, load: Load) -> None:
    """Give a history, which is empty, the `state` after a number of `events`; `load` returns them when needed.

    Raises an error, and changes nothing, if it is not the state of such a history.
    """
    arrays = _read(state, events)
    facts = json.loads(arrays[FACTS].tobytes())
    if facts["format"] != FORMAT or facts["events"] != events:
        raise InvalidValueError(f"The snapshot has format {facts['format']} and is of {facts['events']} events.")
    found = history.emptied(facts["settings"] or history.settings)
    _unpack(found, arrays, facts, events, load)
    history.become(found)


def _unpack(
    history: History, arrays: Mapping[str, AnyArray], facts: Mapping[str, Any], events: int, load: Load
) -> None:
    """Give a new history the state that `packed` wrote."""
    design = history.space.known_design
    history.changes, history._last = facts["changes"], history.settings
    _restore_designs(history, arrays["codes"])
    history.events.begin_with(events, load)
    for view, name in ((history.asked, "asked"), (history.measurements, "measurements"), (history.charges, "charges")):
        view.at.frombytes(_checked(arrays[name], below=events).tobytes())
    history.charges.objectives.frombytes(_checked(arrays["charged"], below=len(history.names)).tobytes())
    history.charges.costs.frombytes(arrays["charge_costs"].astype(np.float64).tobytes())
    history.scored.extend(arrays["scored"].tolist())
    workers = [facts["workers"][code] for code in arrays["answerers"].tolist()]
    history.answered.update(zip(arrays["answered"].tolist(), workers, strict=True))
    for name in PLAIN:
        setattr(history, name, facts[name])
    history.reference = None if facts["reference"] is None else tuple(facts["reference"])
    for name in COUNTERS:
        setattr(history, name, Counter(dict(facts[name])))
    history.assignments.update({number: Assignment(*rest) for number, *rest in facts["assignments"]})
    history._later_tokens.update({number: list(tokens) for number, tokens in facts["later_tokens"]})
    history._payments.begin_with(_checked(arrays["payments"], below=events))
    for number in facts["pending"]:
        history.pending[number] = replace(history.asked[number], token=history.assignments[number].token)
    history.initial.update(dict.fromkeys(map(design, facts["initial"])))
    history.follow_ups.extend(FollowUp(design(one), tuple(some), begun) for one, some, begun in facts["follow_ups"])
    history.queue.extend(QueuedDesign(n, design(one), tuple(some), *rest) for n, one, some, *rest in facts["queue"])
    history.stopped = None if facts["stopped"] is None else Stopped(*facts["stopped"])
    history._lost.update({(number, worker): cost for number, worker, cost in facts["lost"]})
    for p, record in enumerate(history._purchase_records):
        for name in SERIES:
            _unpack_series(history, arrays, f"{name}-{p}", getattr(record, name))
        record.spans.frombytes(arrays[f"spans-{p}"].astype(np.int64).tobytes())
        record.measured.update(arrays[f"measured-{p}"].tolist())
        record.pending.update(_dict(arrays, f"pending-{p}", f"pending-count-{p}"))
        own = facts["purchases"][p]
        record.failures.update(dict(own["failures"]))
        record.reasons.update({key: set(reasons) for key, reasons in own["reasons"]})
        record.given_up.update(own["given_up"])
        record.impossible.update(own["impossible"])
    for j, (objective, found) in enumerate(zip(history.objectives, history._objective_records, strict=True)):
        _unpack_series(history, arrays, f"losses-{j}", found.losses)
        found.bars.update(facts["bars"][j])
        keys = arrays[f"keys-{j}"].tolist()  # the three share them
        found.counts.update(dict(zip(keys, arrays[f"counts-{j}"].tolist(), strict=True)))
        found.latest.update(zip(keys, arrays[f"latest-{j}"].tolist(), strict=True))
        firsts = zip(arrays[f"first-{j}"].tolist(), arrays[f"first-loss-{j}"].tolist(), strict=True)
        found.first.update(zip(keys, firsts, strict=True))
        if objective.stops:
            places = _checked(arrays[f"points-{j}-places"], below=len(history.known_designs))
            rows = history.known_designs.codes[places]
            point_keys = history.known_designs[places].keys(objective.depends_on).tolist()
            steps, losses = arrays[f"steps-{j}"].tolist(), arrays[f"points-{j}-numbers"].tolist()
            for point in zip(point_keys, rows, steps, losses, strict=True):
                history._curves[j].add(*point)
            history._curves[j].bars.update(facts["point_bars"][j])


def _read(content: bytes, events: int) -> Mapping[str, AnyArray]:
    """The arrays of a state, if it is not larger than the state of this number of events can be."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        size = sum(member.file_size for member in file.infolist())
    if size > BYTES_BESIDE + BYTES_PER_EVENT * events:
        raise InvalidValueError(f"The snapshot would take {size} bytes, too many for {events} events.")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _restore_designs(history: History, codes: AnyArray) -> None:
    designs = history.space.from_codes(np.array(codes, dtype=np.float64))
    if not history.changes and not history.space.legal(designs).all():
        raise InvalidValueError("The snapshot has designs that the space forbids.")
    history._seen.begin_with(designs.codes)


def _pack_series(history: History, arrays: dict[str, AnyArray], name: str, series: DesignSeries) -> None:
    designs, numbers = series.arrays()
    arrays[f"{name}-places"], arrays[f"{name}-numbers"] = history._seen.places(designs).astype(np.int32), numbers


def _unpack_series(history: History, arrays: Mapping[str, AnyArray], name: str, series: DesignSeries) -> None:
    places = _checked(arrays[f"{name}-places"], below=len(history.known_designs))
    series.extend(
        history.known_designs.codes[places], array("d", arrays[f"{name}-numbers"].astype(np.float64).tobytes())
    )


def _checked(places: AnyArray, *, below: int) -> IntArray:
    found = places.astype(np.int64)
    if len(found) and not (found.min() >= 0 and found.max() < below):
        raise InvalidValueError("The snapshot refers to what does not exist.")
    return found


def _keys(keys: Iterable[int]) -> AnyArray:
    return np.array(list(keys), dtype=np.uint64)


def _counts(counts: Mapping[int, int]) -> AnyArray:
    return np.array(list(counts.values()), dtype=np.int64)


def _dict(arrays: Mapping[str, AnyArray], keys: str, values: str) -> dict[int, Any]:
    return dict(zip(arrays[keys].tolist(), arrays[values].tolist(), strict=True))
