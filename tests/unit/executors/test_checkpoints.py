"""Checkpoint folders: names that lead nowhere else, and reports that outlive a killed process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flexibo import Design, Objective
from flexibo.errors import MachineError
from flexibo.executors.checkpoints import ABOUT, REPORTS, Checkpoint, Checkpoints

ERROR = Objective("error", steps=9)


def test_each_design_and_objective_has_a_folder_of_its_own_that_says_what_it_is(tmp_path: Path) -> None:
    checkpoints, design = Checkpoints(tmp_path), Design({"x": 1, "k": "3x3"})
    same = Design({"k": "3x3", "x": 1})
    folder = checkpoints.of(ERROR, design).folder
    assert checkpoints.of(ERROR, same).folder == folder
    others = [
        checkpoints.of(ERROR, Design({"x": 2, "k": "3x3"})).folder,
        checkpoints.of(ERROR, Design({"x": "1", "k": "3x3"})).folder,
        checkpoints.of(Objective("loss", steps=9), design).folder,
    ]
    assert len({folder, *others}) == 4
    checkpoints.of(ERROR, design).open(ERROR, design)
    assert json.loads((folder / ABOUT).read_text()) == {"objective": "error", "design": {"x": 1, "k": "3x3"}}


def test_designs_that_an_objective_cannot_tell_apart_share_a_folder(tmp_path: Path) -> None:
    objective = Objective("error", steps=9, options=["x"])
    folders = {Checkpoints(tmp_path).of(objective, Design({"x": 1, "board": board})).folder for board in "ab"}
    assert len(folders) == 1


@pytest.mark.parametrize("name", ["../../etc", "/etc/passwd", "..", ".", "a/b\\c", "\u202ename", "x" * 300, "a\nb"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    folder = Checkpoints(tmp_path).of(Objective(name, steps=9), Design({"x": name})).folder
    assert folder.parent == tmp_path
    assert folder.resolve().parent == tmp_path.resolve()
    assert len(folder.name) < 64


def test_damaged_lines_are_skipped_and_the_first_value_of_a_step_counts(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.reports() == ()
    hostile = b"[2, NaN]\n[4, Infinity]\n[7, 1e200]\n[-5, 0.5]\n[0, 0.5]\n" + b"[" * 100_000 + b"\n"
    torn = b"{}\n[true, 1.0]\n\xff\xfe\n[5]\n[4, 0.2"
    (tmp_path / REPORTS).write_bytes(b"[3, 0.5]\n[1, 0.75]\n[3, 9.0]\n" + hostile + torn)
    assert checkpoint.reports() == ((1, 0.75), (3, 0.5))
    checkpoint.add(6, 0.25)
    assert checkpoint.reports() == ((1, 0.75), (3, 0.5), (6, 0.25))
    checkpoint.forget(after=3)
    assert checkpoint.reports() == ((1, 0.75), (3, 0.5))
    checkpoint.forget()
    assert checkpoint.reports() == ()


def test_a_folder_that_cannot_be_made_is_the_machines_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    checkpoint = Checkpoint(tmp_path / "file" / "error-1")
    with pytest.raises(MachineError, match=r"error-1 cannot be used \(Not a directory\); name another one"):
        checkpoint.open(ERROR, Design({"x": 1}))
    with pytest.raises(MachineError, match="cannot be used"):
        checkpoint.add(1, 0.5)
    with pytest.raises(MachineError, match="cannot be used"):
        checkpoint.forget()


def test_a_folder_belongs_to_the_attempt_that_took_it_last(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.holder() == ""
    for token in ("first", "", "second"):
        checkpoint.take(token)
    assert checkpoint.holder() == "second"
