"""The status of a stored study, ready for JSON: its numbers, evaluations in flight and queued, failures and notes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from flexibo._internal.numbers import format_spent
from flexibo.belief.costs import mean_costs
from flexibo.belief.price_list import queued_parts
from flexibo.history.events import Changed, Event, Noted
from flexibo.optimizer import StopKind
from flexibo.storage.processes import ProcessState, process_state
from flexibo.study.stop_rules import limit_reached
from flexibo.transfer import STATES, Record, StudyCopy
from flexibo.transfer.evaluations import REACHED, iso_time, lost_attempts
from flexibo.transfer.study_copies import SETTING


def overview(copy: StudyCopy, found: Sequence[Record]) -> dict[str, Any]:
    """The numbers of a study."""
    history, times = copy.study.history, [time for time in copy.times if time is not None]
    return {
        "name": copy.name,
        "method": copy.study.method.name,
        "events": len(copy.contents),
        "spent": history.spent,
        "budget": history.budget,
        "begun": iso_time(times[0]) if times else None,
        "last_event": iso_time(times[-1]) if times else None,
        "objectives": [_objective(copy, j, found) for j in range(len(history.names))],
    }


def _objective(copy: StudyCopy, j: int, found: Sequence[Record]) -> dict[str, Any]:
    """The evaluations of one objective, counted by state; one that is measured with another has none.

    "failed" are all failed attempts, also those that showed that a design is "impossible". "cost" is what its values
    cost, "lost_cost" the cost of attempts that gave none: they failed, or their workers vanished.
    """
    history, objective = copy.study.history, copy.study.objectives[j]
    mine = [record for record in found if record.objective == objective.name]
    own = [record for record in mine if record.number is not None]
    paid = [record.cost or 0.0 for record in own if record.is_told]
    lost = sum(record.lost_cost + (0.0 if record.is_told else record.cost or 0.0) for record in own)
    return {
        "name": objective.name,
        "unit": objective.unit,
        "direction": objective.direction,
        "optimise": objective.optimise,
        "at_most": objective.at_most,
        "at_least": objective.at_least,
        "range": objective.range_text,
        "measured_with": objective.measured_with,
        **({"proxies": list(objective.proxies)} if objective.proxies else {}),
        **({"reuse": list(objective.reuse)} if objective.reuse else {}),
        "values": history.count(j),
        **{state: sum(record.state == state for record in own) for state in STATES},
        **({REACHED: sum(record.state == REACHED for record in own)} if objective.stops else {}),
        "failed": history.failed_attempts[objective.name],
        "added": sum(objective.name in record.values for record in found if record.state == "added"),
        "cost": sum(paid),
        "lost_cost": lost,
        "mean_cost": sum(paid) / len(paid) if paid else None,
    }


def stop(copy: StudyCopy) -> dict[str, Any]:
    """Why the study stopped and the kind of that, as stored.

    Earlier versions stored none, and neither do programs that ask and tell: then what the history alone can tell.
    """
    study = copy.study
    history, most = study.history, (study.history.stop or {}).get("max_evaluations", math.inf)
    if study.stop_kind is not None or history.pending or history.queue:
        return {"stopped": study.stopped, "stop_kind": study.stop_kind}
    if history.budget is not None and history.spent >= history.budget:
        spent = format_spent(history.spent, history.budget, history.cost_unit)
        return {"stopped": f"The budget is spent: {spent}.", "stop_kind": StopKind.BUDGET}
    if len(history.asked) >= most:
        return {"stopped": limit_reached(len(history.asked), most), "stop_kind": StopKind.RULE}
    return {"stopped": "", "stop_kind": None}


def settings(copy: StudyCopy) -> dict[str, Any]:
    """The latest settings of the study."""
    chosen = copy.study.settings
    stored = [content["settings"] for content in copy.contents if content["event"] in SETTING][-1]
    return {
        "seed": chosen.seed,
        "options": list(copy.study.space.names),
        "designs": None if copy.study.space.size == float("inf") else copy.study.space.size,
        "initial_designs": len(chosen.initial_designs),
        "full_start": chosen.full_start,
        "candidates": chosen.candidates,
        "delta": chosen.delta,
        "cost": stored["cost"],
        "surrogate": stored["surrogate"],
        "stop": dict(copy.study.history.stop or {}),
        "reference": copy.study.reference,
        "origin": dict(copy.study.history.origin),
        "not_stored": list(copy.missing),
    }


def in_flight(copy: StudyCopy, found: Sequence[Record], now: float) -> list[dict[str, Any]]:
    """The evaluations that are being measured, since when, and the state of their workers."""
    return [
        {
            "number": record.number,
            "name": None if record.number is None else copy.study.history.pending[record.number].label,
            "objective": record.objective,
            "design": dict(record.design),
            "attempt": record.attempt,
            **({} if record.stop is None else {"from_step": record.start, "to_step": record.stop}),
            "expected_cost": record.expected_cost,
            "since": iso_time(record.asked) or None,
            "seconds": None if record.asked is None else now - record.asked,
            "worker": _worker(copy, record, now),
        }
        for record in found
        if record.state == "pending"
    ]


def queued(copy: StudyCopy) -> list[dict[str, Any]]:
    """The designs that are next in line, what they still lack, and what that is expected to cost if costs are known."""
    history = copy.study.history
    parts, means, found = queued_parts(history, copy.study.predictor.costs), mean_costs(history), []
    for one in history.queue:
        places = {name: history.purchase_of(name) for name in one.objectives}
        is_priced = not any(math.isnan(means[p]) for p in places.values())
        cost = sum(part.readings * part.price for part in parts if part.queued is one)
        found.append(
            {
                "number": one.number,
                "design": dict(one.design),
                "objectives": list(one.objectives),
                "in_flight": [name for name, p in places.items() if history.is_pending(p, one.design)],
                "readings": one.readings,
                "expected_cost": cost if is_priced else None,
                "why": one.why,
            }
        )
    return found


def _worker(copy: StudyCopy, record: Record, now: float) -> dict[str, Any]:
    """The worker of an evaluation with its state: "alive", "silent" for longer than its lease, "dead", or "gone".

    One whose process is seen on this machine is alive, even if it is silent.

    The time of its last sign of life is computed from when it got this evaluation, by its own clock. It is shown only;
    no decision depends on it, because clocks of two machines differ.
    """
    sign = copy.workers.get(record.worker)
    if sign is None:
        return {"id": record.worker, "host": None, "pid": None, "lease": None, "state": "gone", "silent_seconds": None}
    silent = None
    if record.number is not None and record.asked is not None:
        lived = copy.study.history.assignments[record.number].seconds
        silent = max(0.0, now - (record.asked - lived + sign.seconds))
    state = process_state(sign.about)
    is_silent = state is ProcessState.UNKNOWN and silent is not None and silent > sign.lease
    return {
        "id": record.worker,
        "host": _plain(sign.about, "host"),
        "pid": _plain(sign.about, "pid"),
        "lease": sign.lease if math.isfinite(sign.lease) else None,
        "state": "dead" if state is ProcessState.DEAD else "silent" if is_silent else "alive",
        "silent_seconds": silent,
    }


def failures(found: Sequence[Record]) -> list[dict[str, Any]]:
    """The evaluations that failed or are impossible, the latest first."""
    failed = [record for record in found if record.state in ("failed", "impossible")]
    return [
        {
            "number": record.number,
            "objective": record.objective,
            "design": dict(record.design),
            "state": record.state,
            "attempt": record.attempt,
            "reason": record.reason,
            "cost": record.cost,
            "time": iso_time(record.answered) or None,
        }
        for record in reversed(failed)
    ]


def lost(copy: StudyCopy) -> list[dict[str, Any]]:
    """The attempts whose workers vanished, the latest first; a cost of None is not known."""
    asked = copy.study.history.asked
    return [
        {
            "number": one.number,
            "objective": asked[one.number].objective,
            "design": dict(asked[one.number].design),
            "worker": one.worker,
            "cost": one.cost,
            "time": iso_time(one.time) or None,
        }
        for one in reversed(lost_attempts(copy.study.history, copy.times))
    ]


def notes(copy: StudyCopy) -> list[dict[str, Any]]:
    """The notes of users and the changes of the study, in order."""
    pairs = zip(copy.study.events, copy.times, strict=True)
    return [{"text": _said(event), "time": iso_time(time) or None} for event, time in pairs if _said(event)]


def _said(event: Event) -> str:
    if isinstance(event, Changed):
        return f"Changed: {'; '.join(event.changes)}"
    return event.text if isinstance(event, Noted) else ""


def _plain(about: Mapping[str, Any], key: str) -> str | int | None:
    value = about.get(key)
    return value if isinstance(value, str | int) else None
