"""``flexibo reproduce``: the paper's experiments."""

from __future__ import annotations


def reproduce() -> None:
    """Repeat an experiment of the paper."""
