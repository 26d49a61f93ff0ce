"""Parts of study files that several tests begin with."""

from __future__ import annotations

OBJECTIVES = """
objectives:
  error:
    command: echo {x}
  joules:
    command: echo 1
"""
SMALL = f"options:\n  x: [1, 2, 3]\n{OBJECTIVES}"
