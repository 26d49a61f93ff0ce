"""The data behind the pictures of a study: `flexibo.plots` and `flexibo.web` draw the same views.

Each function takes a study and returns a frozen value; its `to_dict()` is ready for strict JSON.
"""

from flexibo.views.axes import Axis
from flexibo.views.choices import ChoicesView, choices_view
from flexibo.views.curves import CurvesView, curves_view
from flexibo.views.front import FrontView, front_view
from flexibo.views.importance import ImportanceView, importance_view
from flexibo.views.parallel import ParallelView, parallel_view
from flexibo.views.slices import SliceView, slice_view
from flexibo.views.spending import SpendingView, spending_view
from flexibo.views.trace import TraceView, trace_view

__all__ = [
    "Axis",
    "ChoicesView",
    "CurvesView",
    "FrontView",
    "ImportanceView",
    "ParallelView",
    "SliceView",
    "SpendingView",
    "TraceView",
    "choices_view",
    "curves_view",
    "front_view",
    "importance_view",
    "parallel_view",
    "slice_view",
    "spending_view",
    "trace_view",
]
