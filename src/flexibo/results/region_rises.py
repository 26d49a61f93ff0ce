"""Why the Pareto region became larger between two questions, although every measurement should make it smaller."""

from __future__ import annotations

from collections.abc import Sequence

from flexibo.history import History
from flexibo.history.events import Added, Asked, Changed, Created, Event, Failed, ReferenceFixed, Told
from flexibo.objectives import Objective

LEAST = 0.02  # smaller rises, as a share of the volume before, are not explained


def region_rises(history: History) -> dict[int, str]:
    """A sentence for each question at which the volume of the region was larger than at the last one, by number."""
    found: dict[int, str] = {}
    before: float | None = None
    between: list[Event] = []
    others, is_fixed = with_other_axes(history), False
    for event in history.events:
        if not isinstance(event, Asked) or event.evaluation.volume is None or event.evaluation.number in others:
            between.append(event)
            continue
        volume = event.evaluation.volume
        if before is not None and volume > (1.0 + LEAST) * before:
            share = "" if before == 0.0 else f" by {volume / before - 1.0:.0%}"
            found[event.evaluation.number] = f"The region grew{share} after {_what(history, between, is_fixed)}."
        is_fixed |= any(isinstance(one, ReferenceFixed) for one in between)
        before, between = volume, []
    return found


def with_other_axes(history: History) -> set[int]:
    """The questions asked while other objectives were optimised: volumes of their regions cannot be compared."""
    present = {history.names[j] for j in history.optimised}
    axes, found = present, set()
    for event in history.events:
        if isinstance(event, Created | Changed):
            objectives = map(Objective.from_dict, event.settings["objectives"])
            axes = {objective.name for objective in objectives if objective.optimise}
        elif isinstance(event, Asked) and axes != present:
            found.add(event.evaluation.number)
    return found


def comparable_volumes(history: History) -> list[float]:
    """The volumes of the region at the questions since the study was changed or its reference point was moved."""
    found = []
    for event in reversed(history.events):
        if isinstance(event, Changed | ReferenceFixed):
            break
        if isinstance(event, Asked) and event.evaluation.volume is not None:
            found.append(event.evaluation.volume)
    return found[::-1]


def _what(history: History, between: Sequence[Event], is_fixed: bool) -> str:
    """What happened between two questions that can have widened the region; `is_fixed` is the reference before."""
    failed = [event for event in between if isinstance(event, Failed)]
    said = [f"evaluation {event.number} ({history.asked[event.number].objective}) failed" for event in failed[:2]]
    if len(failed) > 2:
        said.append(f"{len(failed) - 2} more failed")
    if any(isinstance(event, Changed) for event in between):
        said.append("the study was changed")
    if any(isinstance(event, Added) for event in between):
        said.append("results were added")
    if fixed := [event for event in between if isinstance(event, ReferenceFixed)]:
        said.append(
            "the reference point was widened" if is_fixed and fixed[-1].found else "the reference point was fixed"
        )
    if said:
        return " and ".join(said)
    told = [event for event in between if isinstance(event, Told)]
    if not told:
        return "new candidates were drawn"
    last = told[-1]
    which = f"evaluation {last.number} ({history.asked[last.number].objective})"
    more = f" and {len(told) - 1} more" if len(told) > 1 else ""
    return (
        f"{which}{more} was measured: its value made the models less certain, so their boxes widened, or new "
        "candidates with wider boxes were drawn"
    )
