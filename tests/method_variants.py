"""Methods that differ from another in a cost or a sum alone."""

from __future__ import annotations


def is_variant(method: str) -> bool:
    """Whether the fewest tests run it, and on one Python only.

    >>> is_variant("flexibo-gp-ratio"), is_variant("flexibo-gp-log")
    (True, False)
    """
    return method.endswith(("-ratio", "-constant", "-dec", "-coupled"))
