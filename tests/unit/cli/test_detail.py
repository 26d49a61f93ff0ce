"""How much a run tells."""

from __future__ import annotations

import pytest
from tests.command_line import mentions, refusal

from flexibo.cli._detail import Detail, Tries, chosen_detail, chosen_tries


def test_the_flags_decide() -> None:
    assert chosen_detail(quiet=False, verbose=False) is Detail.USUAL
    assert chosen_detail(quiet=True, verbose=False) is Detail.QUIET
    assert chosen_detail(quiet=False, verbose=True) is Detail.VERBOSE
    assert [chosen_tries(wanted) for wanted in (None, True, False)] == [Tries.FIRST, Tries.ONLY, Tries.NO]


@pytest.mark.usefixtures("folder")
def test_flags_that_contradict_each_other_are_refused() -> None:
    assert mentions(refusal("run", "study.yaml", "--quiet", "--verbose"), "--quiet", "--verbose")
    assert mentions(refusal("run", "study.yaml", "--try", "--dry-run"), "--try", "--dry-run")
    for flag in ("--try", "--no-try"):
        assert mentions(refusal("run", "lenet", flag), flag, "'lenet'")
