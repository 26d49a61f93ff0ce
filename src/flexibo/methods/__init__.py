"""Methods: one paper, one file, and the table of their names.

A method scores what could be measured, or proposes designs. It imports the belief and what lies below; the optimizer
imports it.
"""

from flexibo.methods.table import METHODS, Method, find_method, list_methods

__all__ = ["METHODS", "Method", "find_method", "list_methods"]
