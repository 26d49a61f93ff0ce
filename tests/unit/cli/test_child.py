"""A command that runs in the foreground."""

from __future__ import annotations

import pytest

from flexibo.cli._child import child, run_child
from flexibo.errors import InvalidValueError


@pytest.mark.parametrize(("script", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)])
def test_the_status_is_that_of_a_shell(script: str, status: int) -> None:
    assert run_child(["sh", "-c", script]) == status


def test_output_can_go_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with child(["echo", "loud"], output_to_errors=True) as call:
        assert call() == 0
    assert capfd.readouterr() == ("", "loud\n")


@pytest.mark.parametrize("command", [["/no/such/program"], ["a\0b"]])
def test_what_cannot_be_run_is_named(command: list[str]) -> None:
    with pytest.raises(InvalidValueError) as caught:
        run_child(command)
    assert repr(command[0]) in str(caught.value)
