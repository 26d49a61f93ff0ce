"""Space: options, designs, vectorised sampling and encoding (ConfigSpace in and out)."""

from flexibo.space.design import Design
from flexibo.space.designs import Designs
from flexibo.space.options import Categorical, Integer, Level, Option, Ordinal, Real, Value
from flexibo.space.space import Rule, Space

__all__ = [
    "Categorical",
    "Design",
    "Designs",
    "Integer",
    "Level",
    "Option",
    "Ordinal",
    "Real",
    "Rule",
    "Space",
    "Value",
]
