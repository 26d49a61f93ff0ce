"""Whether the designs of a front do better than chance, where the origin of a study says what chance is.

Chance is the loss of the best answer without learning on the held-out examples, such as always the same label. A
measured share of n examples has a standard deviation of its own, so a design is at chance unless it is better by more
than two of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flexibo._internal.numbers import format_number
from flexibo.results.rows import DesignRow

if TYPE_CHECKING:
    from flexibo.history import History

CHANCE = "chance"  # the key of an origin: objective, percent and examples
N_DEVIATIONS = 2.0


def chance_level(objective: str, percent: float, examples: int) -> dict[str, Any]:
    """What an origin says of chance, under the key `CHANCE`."""
    return {"objective": objective, "percent": percent, "examples": examples}


def least_at_chance(percent: float, examples: int) -> float:
    """The smallest error that cannot be told from chance.

    >>> least_at_chance(90.0, 900)
    88.0
    """
    share = min(max(percent / 100, 0.0), 1.0)
    return percent - 100 * N_DEVIATIONS * math.sqrt(share * (1 - share) / examples)


def chance_sentence(history: History, rows: Sequence[DesignRow]) -> str:
    """How many designs are no better than chance; empty if none is, or if nothing is known of chance."""
    known = _known(history)
    if known is None:
        return ""
    name, percent, examples = known
    n_at_chance = sum(row.values[name] >= least_at_chance(percent, examples) for row in rows)
    if not n_at_chance:
        return ""
    some = f"{n_at_chance} of {len(rows)} confirmed designs are not"
    return (
        f"{'No confirmed design is' if n_at_chance == len(rows) else some} better than chance: an answer without "
        f"learning has {name} {format_number(percent)} on these {examples:,} held-out examples."
        f"{'' if history.origin.get('recorded') else ' Train on more examples or for more epochs.'}"
    )


def _known(history: History) -> tuple[str, float, int] | None:
    """The objective, its chance level and the number of examples; others may have written the origin."""
    level = history.origin.get(CHANCE)
    if not isinstance(level, Mapping) or level.get("objective") not in history.names:
        return None
    percent, examples = level.get("percent"), level.get("examples")
    if not isinstance(percent, int | float) or not math.isfinite(percent):
        return None
    if not isinstance(examples, int) or examples < 1:
        return None
    return str(level["objective"]), float(percent), int(examples)
