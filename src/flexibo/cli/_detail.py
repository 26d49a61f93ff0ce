"""How much a run tells, and whether it tries the objectives first."""

from __future__ import annotations

from enum import Enum

from flexibo.errors import InvalidValueError


class Detail(Enum):
    QUIET = "errors and the front"
    USUAL = "a bar in a terminal, otherwise a line for each evaluation"
    VERBOSE = "several lines for each evaluation"


class Tries(Enum):
    NO = "the study runs at once"
    FIRST = "each objective is tried once before the study runs"
    ONLY = "each objective is tried once, and nothing else is done"


def chosen_detail(*, quiet: bool, verbose: bool) -> Detail:
    if quiet and verbose:
        raise InvalidValueError("Both --quiet and --verbose are given; give one of them.")
    return Detail.QUIET if quiet else Detail.VERBOSE if verbose else Detail.USUAL


def chosen_tries(wanted: bool | None, *, dry_run: bool = False) -> Tries:
    """What --try, --no-try or neither of them means."""
    if wanted and dry_run:
        raise InvalidValueError("--try measures and --dry-run does not; give one of them.")
    return Tries.FIRST if wanted is None else Tries.ONLY if wanted else Tries.NO
