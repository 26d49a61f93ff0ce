"""Random search: the baseline that every method has to beat."""

from __future__ import annotations

from flexibo.methods.base import RandomMethod

RANDOM = RandomMethod(name="random", summary="One objective of one design at a time, at random.", coupled=False)
RANDOM_COUPLED = RandomMethod(name="random-coupled", summary="All objectives of a random design.")
