"""Pictures of a study (extra ``plot``). Every function draws on matplotlib axes and returns them.

Nothing is shown and nothing is saved: that is up to `save`, or to ``axes.figure.savefig("front.png")``.
"""

from flexibo.plots.counts import evaluations
from flexibo.plots.effects import importance
from flexibo.plots.fronts import front
from flexibo.plots.fronts import shade as _shade
from flexibo.plots.gain import gains
from flexibo.plots.html import to_html, write_html
from flexibo.plots.lines import parallel
from flexibo.plots.panels import pairs
from flexibo.plots.saving import FORMATS, PICTURES, Picture, save
from flexibo.plots.slicing import slices
from flexibo.plots.solids import front3d
from flexibo.plots.style import new_axes as _new_axes
from flexibo.plots.volumes import hypervolume, region

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
