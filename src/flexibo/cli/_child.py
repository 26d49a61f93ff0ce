"""A command that runs in the foreground, for `flexibo knobs set` and `flexibo meter`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from flexibo._internal.shell import foreground_program
from flexibo.errors import InvalidValueError

STANDARD_ERROR = 2


@contextmanager
def child(command: Sequence[str], *, output_to_errors: bool = False) -> Iterator[Callable[[], int]]:
    """A context for a command with the streams of this process; at its end all that the command started has ended.

    Its value runs the command and returns its status as a shell gives it, 128 more for a signal. With
    `output_to_errors`, what it prints goes to standard error, because the output is for something else.
    """
    with foreground_program(command, stdout=STANDARD_ERROR if output_to_errors else None) as run:

        def status() -> int:
            try:
                found = run()
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or error
                raise InvalidValueError(f"{command[0]!r} cannot be run: {why}.") from None
            return found if found >= 0 else 128 - found

        yield status


def run_child(command: Sequence[str]) -> int:
    """Run a command to its end and return its status."""
    with child(command) as run:
        return run()
