"""Systems: what is optimised, one file each."""

from __future__ import annotations

from flexibo.systems.base import System
from flexibo.systems.digits import digits_system

__all__ = ["System", "digits_system"]
