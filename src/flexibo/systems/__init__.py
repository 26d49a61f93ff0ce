"""Systems: what is optimised, one file each.

A system has a space, objectives and functions that measure them. Imports hardware, space and objectives; the command
line and `compare` import it.
"""

from __future__ import annotations

from flexibo.systems.base import System
from flexibo.systems.digits import digits_system

__all__ = ["System", "digits_system"]
