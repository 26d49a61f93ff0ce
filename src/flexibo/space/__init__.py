"""Space: options, designs, vectorised sampling and encoding (ConfigSpace in and out).

It imports only `flexibo._internal` and `flexibo.errors`. Every package that handles designs imports it.
"""

from flexibo.space._legal_designs import ENUMERATION_LIMIT, Rule
from flexibo.space._option_table import Families
from flexibo.space.design import Design
from flexibo.space.designs import Designs
from flexibo.space.options import Categorical, Integer, Level, Option, Ordinal, Real, Value
from flexibo.space.space import Space

__all__ = [
    "ENUMERATION_LIMIT",
    "Categorical",
    "Design",
    "Designs",
    "Families",
    "Integer",
    "Level",
    "Option",
    "Ordinal",
    "Real",
    "Rule",
    "Space",
    "Value",
]
