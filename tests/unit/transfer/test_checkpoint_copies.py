"""Copies of checkpoint folders, while trainings write to them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.unit.study.small_studies import asked

from flexibo import Objective, Study
from flexibo.executors.checkpoints import Checkpoint
from flexibo.transfer import copy_checkpoints

ERROR = Objective("error", steps=9)


@pytest.fixture
def training(tmp_path: Path) -> tuple[Study, Checkpoint]:
    study = Study({"x": [1, 2]}, [ERROR, "joules"], seed=0, method="random", checkpoints=tmp_path / "here")
    evaluation = asked(study, only=["error"])
    checkpoint = Checkpoint(study.checkpoint(evaluation.design, "error"))
    checkpoint.open(ERROR, evaluation.design)
    checkpoint.add(1, 0.5)
    (checkpoint.folder / "1.pt").write_bytes(bytes(100))
    return study, checkpoint


def moving(monkeypatch: pytest.MonkeyPatch, checkpoint: Checkpoint, times: int) -> None:
    """The training reports a step and replaces its file while its folder is copied, this many times."""
    left, copy = list(range(2, 2 + times)), shutil.copytree

    def copied(*given: object, **more: object) -> object:
        found = copy(*given, **more)  # type: ignore[call-overload]
        if left:
            step = left.pop(0)
            (checkpoint.folder / f"{step - 1}.pt").rename(checkpoint.folder / f"{step}.pt")
            checkpoint.add(step, 0.5)
        return found

    monkeypatch.setattr("flexibo.transfer.checkpoint_copies.shutil.copytree", copied)


def test_a_folder_that_changes_while_it_is_copied_is_copied_again(
    training: tuple[Study, Checkpoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, checkpoint = training
    moving(monkeypatch, checkpoint, 2)
    found = copy_checkpoints(study, tmp_path / "there")
    assert (found.folders, found.left_out) == (1, ())
    copy = tmp_path / "there" / checkpoint.folder.relative_to(tmp_path / "here")
    assert Checkpoint(copy).reports()[-1] == (3, 0.5)
    assert [path.name for path in copy.glob("*.pt")] == ["3.pt"]


def test_a_folder_that_never_rests_is_left_out(
    training: tuple[Study, Checkpoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, checkpoint = training
    moving(monkeypatch, checkpoint, 10)
    found = copy_checkpoints(study, tmp_path / "there")
    assert (found.folders, found.left_out) == (0, (checkpoint.folder,))
    assert not list((tmp_path / "there").rglob("*.pt"))


def test_checkpoints_never_replace_themselves(training: tuple[Study, Checkpoint], tmp_path: Path) -> None:
    study, checkpoint = training
    assert copy_checkpoints(study, tmp_path / "here").folders == 0
    assert (checkpoint.folder / "1.pt").stat().st_size == 100
