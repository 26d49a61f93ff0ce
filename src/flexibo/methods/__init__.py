"""Methods: one paper, one file, and the table of their names.

A method scores what could be measured, proposes designs, or draws at random (`base`); ``flexibo.list_methods()`` lists
them. The package imports the belief and what lies below; the optimizer imports it.
"""

import sys
from types import ModuleType
from typing import NoReturn

from flexibo.errors import InvalidTypeError
from flexibo.methods.base import Method, ProposingMethod, RandomMethod, ScoringMethod
from flexibo.methods.table import METHODS, find_method, list_methods

__all__ = ["METHODS", "Method", "ProposingMethod", "RandomMethod", "ScoringMethod", "find_method", "list_methods"]


class _Package(ModuleType):
    """This package; calling it is a likely mistake, as the methods are listed by a function beside it."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise InvalidTypeError("flexibo.methods is a package and cannot be called; flexibo.list_methods() lists them.")


sys.modules[__name__].__class__ = _Package
