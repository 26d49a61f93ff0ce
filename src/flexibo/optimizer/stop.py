"""Stop: why there is no further question, as a kind for programs and a sentence for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class StopKind(str, Enum):
    """Why a study stopped. The values are stored and printed as JSON, so they never change."""

    BUDGET = "budget"
    """The rest of the budget pays for nothing that is worth asking."""
    FREE = "free"
    """The last evaluations cost nothing, so the budget would never end."""
    FAILING = "failing"
    """An objective failed too often in a row, or was never measured at all."""
    UNLIKELY = "unlikely"
    """What is left would probably fail."""
    FINISHED = "finished"
    """The method has nothing left to measure."""
    NO_REGION = "no-region"
    """No Pareto region is left among the candidates."""
    INFEASIBLE = "infeasible"
    """No candidate may be feasible."""
    WAITING = "waiting"
    """Pending evaluations, or objectives that are measured elsewhere, must come first."""
    RULE = "rule"
    """A stop rule of the study was met."""
    IDLE = "idle"
    """There was nothing to do for as long as the caller was willing to wait."""
    MANUAL = "manual"
    """What is left is measured manually: a person reports the values."""
    INTERRUPTED = "interrupted"
    """Ctrl-C."""
    TERMINATED = "terminated"
    """SIGTERM or SIGHUP."""


PASSING = (StopKind.IDLE, StopKind.WAITING)
"""Kinds that say something about one process and not about the study."""


@dataclass(frozen=True, slots=True)
class Stop:
    """There is nothing to ask: a kind for programs, and a sentence for people that no code looks into.

    If it `waits`, this may change once other processes have measured.
    """

    kind: StopKind
    reason: str
    waits: bool = False
