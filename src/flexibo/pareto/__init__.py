"""Pure geometry of losses: dominance, hypervolume, the Pareto region and what a measurement removes from it.

It imports only `flexibo._internal` and `flexibo.errors`. Beliefs, methods, the optimizer and results import it.
"""

from __future__ import annotations

from flexibo.pareto.dominance import non_dominated
from flexibo.pareto.gain import pinned_gains
from flexibo.pareto.hypervolume import hypervolume, hypervolumes, improvements
from flexibo.pareto.region import Region, pareto_region

__all__ = ["Region", "hypervolume", "hypervolumes", "improvements", "non_dominated", "pareto_region", "pinned_gains"]
