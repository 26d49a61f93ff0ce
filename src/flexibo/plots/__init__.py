"""Pictures of a study (extra ``plot``). Every function draws on matplotlib axes and returns them.

Nothing is shown and nothing is saved: that is up to `save`, or to ``axes.figure.savefig("front.png")``.
"""

from flexibo.plots._front import front
from flexibo.plots._front import shade as _shade
from flexibo.plots._front3d import front3d
from flexibo.plots._importance import importance
from flexibo.plots._pairs import pairs
from flexibo.plots._parallel import parallel
from flexibo.plots._slices import slices
from flexibo.plots._trace import hypervolume, region
from flexibo.plots.counts import evaluations
from flexibo.plots.gain import gains
from flexibo.plots.html import to_html, write_html
from flexibo.plots.saving import FORMATS, PICTURES, Picture, save
from flexibo.plots.style import new_axes as _new_axes

__all__ = [
    "FORMATS",
    "PICTURES",
    "Picture",
    "_new_axes",
    "_shade",
    "evaluations",
    "front",
    "front3d",
    "gains",
    "hypervolume",
    "importance",
    "pairs",
    "parallel",
    "region",
    "save",
    "slices",
    "to_html",
    "write_html",
]
