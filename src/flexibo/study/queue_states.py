"""Why an objective of a design need not be queued."""

from __future__ import annotations

from flexibo.history import History
from flexibo.space import Design

MEASURED, QUEUED = "is measured already", "is queued already"


def closed_because(history: History, name: str, design: Design, readings: int = 1) -> str:
    """Why an objective of a design need not be queued, as the end of a sentence; empty if it may be."""
    p = history.purchase_of(name)
    if history.is_hopeless(p, design):
        return "failed for good"
    missing = history.readings_missing(p, design, readings)
    if not missing:
        return MEASURED
    if history.is_queued(p, design):
        return QUEUED
    return "is being measured" if history.is_pending(p, design) and missing == 1 else ""
