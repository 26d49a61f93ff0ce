"""The power mode of a board, set by a program that plays nvpmodel."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import jetson, journal_in, put

from flexibo.errors import InvalidValueError
from flexibo.hardware.knobs import (
    KnobError,
    KnobUnavailableError,
    LinuxMachine,
    NvpModel,
    PowerMode,
    Roots,
    restore,
    settings,
    state,
)

CONFIGURATION = """
< POWER_MODEL ID=0 NAME=MAXN >
CPU_ONLINE CORE_0 1
< POWER_MODEL ID=2 NAME=MODE_15W_2CORE >
# < PM_CONFIG DEFAULT=2 >
"""
# Mode 3 needs a restart: it asks, gets no answer, and changes nothing.
PROGRAM = """#!/bin/sh
mode={folder}/mode
case $1 in
-q) echo "NV Power Mode: $(cat $mode)" ; [ "$(cat $mode)" = MAXN ] && echo 0 || echo 2 ;;
-m) case $2 in
    0) echo MAXN > $mode ;;
    2) if [ -e {folder}/restart ]; then read -r answer; else echo MODE_15W_2CORE > $mode; fi ;;
    *) echo "no such mode" >&2 ; exit 1 ;;
    esac ;;
esac
exit 0
"""


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[LinuxMachine, PowerMode]:
    roots = jetson(tmp_path)
    put(tmp_path / "etc/nvpmodel.conf", CONFIGURATION)
    put(tmp_path / "mode", "MAXN")
    program = put(tmp_path / "nvpmodel", PROGRAM.format(folder=tmp_path))
    program.chmod(0o755)
    nvpmodel = NvpModel(roots, str(program))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return LinuxMachine(roots, nvpmodel=nvpmodel), PowerMode(nvpmodel)


def test_a_board_is_in_a_mode_while_something_is_measured(
    board: tuple[LinuxMachine, PowerMode], tmp_path: Path
) -> None:
    machine, knob = board
    assert (knob.values(), knob.read()) == (("MAXN", "MODE_15W_2CORE"), "MAXN")
    journal = journal_in(tmp_path, machine.roots)
    with settings([knob], {"power_mode": "MODE_15W_2CORE"}, machine=machine, journal=journal) as writes:
        assert [(write.value, write.before) for write in writes] == [("MODE_15W_2CORE", "MAXN")]
        assert knob.read() == "MODE_15W_2CORE"
        assert knob.writes("MODE_15W_2CORE") == ()
    assert knob.read() == "MAXN"
    journal.begin(writes)
    journal.update(writes, is_left=True)
    put(tmp_path / "mode", "MODE_15W_2CORE")
    assert restore(journal, machine=machine) == writes
    assert knob.read() == "MAXN"


def test_a_mode_that_needs_a_restart_is_noticed(board: tuple[LinuxMachine, PowerMode], tmp_path: Path) -> None:
    machine, knob = board
    (tmp_path / "restart").touch()
    session = settings(
        [knob], {"power_mode": "MODE_15W_2CORE"}, machine=machine, journal=journal_in(tmp_path, machine.roots)
    )
    with pytest.raises(KnobError, match=r"'power_mode'.*MAXN"), session:
        pytest.fail("nothing is measured")
    assert knob.read() == "MAXN"


def test_what_is_not_there_or_not_permitted_is_said(
    board: tuple[LinuxMachine, PowerMode], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, knob = board
    with pytest.raises(InvalidValueError, match=r"'power_mode'.*'MODE_9W'.*MAXN"):
        knob.writes("MODE_9W")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "root" in knob.nvpmodel.refusal("nvpmodel:mode")
    assert LinuxMachine(machine.roots).refusal("nvpmodel:mode")
    with pytest.raises(PermissionError):
        LinuxMachine(machine.roots).write("nvpmodel:mode", "MAXN")
    with pytest.raises(OSError, match="no such"):
        machine.write("nvpmodel:mode", "MODE_9W")
    (tmp_path / "etc/nvpmodel.conf").unlink()
    assert "nvpmodel.conf" in state(knob, machine).refusal
    absent = PowerMode(NvpModel(Roots(tmp_path / "sys", tmp_path / "proc"), "nvpmodel-of-nobody"))
    with pytest.raises(KnobUnavailableError, match="nvpmodel"):
        absent.read()
