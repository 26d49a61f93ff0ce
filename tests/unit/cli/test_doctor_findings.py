"""Time limits of the checks."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from tests.command_line import mentions

from flexibo.cli._doctor_findings import Check, Finding, found, output_of, python_says


class TestLimits:
    @pytest.mark.slow
    def test_a_check_that_never_ends_is_left_alone(self) -> None:
        ended = threading.Event()

        def forever() -> Iterator[Finding]:
            ended.wait(600)
            yield Finding("A", "slow", "good", "late")

        quick = Check("B", "quick", lambda: [Finding("B", "quick", "good", "here")])
        fine, slow = found([quick, Check("A", "slow", forever)], limit=3.0)
        ended.set()
        assert (slow.name, slow.state) == ("slow", "wrong")
        assert mentions(slow.text, "3 s")
        assert fine.text == "here"

    def test_a_check_that_breaks_does_not_hide_the_others(self) -> None:
        def broken() -> Iterator[Finding]:
            raise RuntimeError("no such bus")

        (finding,) = found([Check("A", "bus", broken)], limit=30.0)
        assert finding.state == "wrong"
        assert mentions(finding.text, "RuntimeError", "no such bus")

    def test_a_program_that_never_ends_is_killed(self) -> None:
        status, said = output_of(["sleep", "60"], limit=0.2)
        assert status == 1
        assert mentions(said, "0.2 s")

    def test_a_program_that_cannot_be_run_or_fails_says_so(self) -> None:
        assert output_of(["/nowhere/program"], limit=30)[0] == 1
        status, said = python_says("import sys; print('a\\nb', file=sys.stderr); sys.exit(7)", limit=60)
        assert (status, said) == (7, "b")
        assert python_says("print('fine')", limit=60) == (0, "fine\n")
