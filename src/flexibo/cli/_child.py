"""A command that runs in the foreground, for `flexibo knobs set` and `flexibo meter`."""

from __future__ import annotations

from collections.abc import Sequence

from flexibo._internal.shell import run_program
from flexibo.errors import InvalidValueError

STANDARD_ERROR = 2


def run_child(command: Sequence[str], *, output_to_errors: bool = False) -> int:
    """Run a command with the streams of this process; returns its status as a shell gives it, 128 more for a signal.

    With `output_to_errors`, what it prints goes to standard error, because the output is for something else.
    """
    try:
        status = run_program(command, stdout=STANDARD_ERROR if output_to_errors else None)
    except (OSError, ValueError) as error:
        raise InvalidValueError(f"{command[0]!r} cannot be run: {getattr(error, 'strerror', None) or error}.") from None
    return status if status >= 0 else 128 - status
