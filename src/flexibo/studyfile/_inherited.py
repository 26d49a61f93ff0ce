"""What a command inherits from the environment of flexibo: everything except the secrets of flexibo itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

WITHHELD = (
    "FLEXIBO_STORAGE",  # a database URL, perhaps with its password
    "FLEXIBO_DASHBOARD_TOKEN",
    "PGPASSWORD",
    "PGPASSFILE",
    "PGSERVICEFILE",
)
"""Variables that give access to the storage or to the dashboard; a command that is measured needs neither."""


def inherited(environment: Mapping[str, str], command: str, passed: Collection[str] = ()) -> dict[str, str]:
    """The environment without the withheld variables, except those that are `passed` or that the command refers to.

    >>> inherited({"HOME": "/", "PGPASSWORD": "secret"}, "psql -c 'select 1'")
    {'HOME': '/'}
    >>> inherited({"PGPASSWORD": "secret"}, "psql", passed=["PGPASSWORD"])
    {'PGPASSWORD': 'secret'}
    """
    named = {*passed, *referred(command)}
    return {name: value for name, value in environment.items() if name not in WITHHELD or name in named}


def referred(command: str) -> set[str]:
    """The withheld variables that the text of a command refers to, as in ``$PGPASSWORD``."""
    return {name for name in WITHHELD if re.search(rf"\$\{{?{name}\b", command)}
