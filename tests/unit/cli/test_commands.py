"""The table of commands."""

from __future__ import annotations

from pathlib import Path

from flexibo.cli.commands import COMMANDS

ROOT = Path(__file__).parents[3]


def test_every_command_is_documented() -> None:
    written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name in (command.name for command in COMMANDS):
        assert f"flexibo {name}" in written, name
