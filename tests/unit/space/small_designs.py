"""A legal design of the space without conditions, and the rows of a pool, one of them twice."""

from __future__ import annotations

GOOD = {"filters": 16, "kernel": "3x3", "cores": 4, "ghz": 1.0, "gpu": True}

ROWS: list[dict[str, object]] = [
    {"cores": 4, "kernel": "b", "gpu": True},
    {"cores": 1, "kernel": "a", "gpu": True},
    {"cores": 2, "kernel": "b", "gpu": False},
    {"cores": 4, "kernel": "b", "gpu": True},
]
