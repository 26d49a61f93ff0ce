"""Methods: one paper, one file, and the table of their names.

A method scores what could be measured, proposes designs, or draws at random (`base`). The package imports the belief
and what lies below; the optimizer imports it.
"""

from flexibo.methods.base import Method, ProposingMethod, RandomMethod, ScoringMethod
from flexibo.methods.table import METHODS, find_method, list_methods

__all__ = ["METHODS", "Method", "ProposingMethod", "RandomMethod", "ScoringMethod", "find_method", "list_methods"]
