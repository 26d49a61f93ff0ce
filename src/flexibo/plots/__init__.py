"""Pictures of a study (extra ``plot``). Every function draws on matplotlib axes and returns them.

The study need not have measurements yet. `ax` is where to draw; a new figure by default. No function shows or saves a
picture: use `save`, or ``axes.figure.savefig("front.png")``.
"""

from flexibo.plots._curves import curves
from flexibo.plots._front import front, front3d, pairs
from flexibo.plots._parallel import parallel
from flexibo.plots._slices import importance, slices
from flexibo.plots._trace import evaluations, gains, hypervolume, region
from flexibo.plots.html import to_html, write_html
from flexibo.plots.saving import FORMATS, PICTURES, Picture, save

__all__ = [
    "FORMATS",
    "PICTURES",
    "Picture",
    "curves",
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
