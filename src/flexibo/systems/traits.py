"""What a network allows a platform to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Traits:
    """What a network allows a platform to do.

    Attributes:
        images: Whether its inputs are images, which have a memory layout to choose.
        own_batch: Whether its own options decide the batch size.
        graphs: Whether its work can be recorded once and replayed (no step waits for a value).
    """

    images: bool = True
    own_batch: bool = False
    graphs: bool = True
