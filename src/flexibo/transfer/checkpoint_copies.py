"""Copies of checkpoint folders, while trainings write to them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from flexibo.executors.checkpoints import Checkpoint
from flexibo.study import Study

MOST_ATTEMPTS = 3  # at a folder that changes while it is copied


@dataclass(frozen=True, slots=True)
class CopiedCheckpoints:
    """What became of the checkpoints of unfinished trainings.

    Attributes:
        folders: How many were copied.
        size: Their size in bytes.
        left_out: Those that changed all the time or could not be read, so that no copy of them is whole.
    """

    folders: int = 0
    size: int = 0
    left_out: tuple[Path, ...] = ()

    def __add__(self, other: CopiedCheckpoints) -> CopiedCheckpoints:
        return CopiedCheckpoints(
            self.folders + other.folders, self.size + other.size, (*self.left_out, *other.left_out)
        )


def unfinished_trainings(study: Study) -> list[Checkpoint]:
    """The folders of trainings that may go on, once each; designs that are the same to an objective share one."""
    history = study.history
    objectives = {one.name: one for one in history.objectives if one.stops and one.resumable}
    found: dict[Path, None] = {}
    for asked in history.asked:
        own = objectives.get(asked.objective)
        if own is not None and history.reached(asked.design, own.name) < own.stops[-1]:
            found[study.checkpoint(asked.design, own.name)] = None
    return [Checkpoint(folder) for folder in found if folder.is_dir()]


def copy_checkpoints(study: Study, target: Path) -> CopiedCheckpoints:
    """Copy the checkpoints of a study's unfinished trainings to below a folder.

    A training that goes on while its folder is copied may leave a copy whose reports and files do not belong together:
    such a copy is made again, and left out if that does not help.
    """
    done = CopiedCheckpoints()
    for checkpoint in unfinished_trainings(study):
        root = checkpoint.folder.parents[1]
        copy = target / checkpoint.folder.relative_to(root)
        if target.resolve() == root.resolve():
            continue  # it would replace itself
        if _is_copied(checkpoint, copy):
            done += CopiedCheckpoints(1, sum(path.lstat().st_size for path in copy.rglob("*") if path.is_file()))
        else:
            shutil.rmtree(copy, ignore_errors=True)
            done += CopiedCheckpoints(left_out=(checkpoint.folder,))
    return done


def _is_copied(checkpoint: Checkpoint, copy: Path) -> bool:
    for _ in range(MOST_ATTEMPTS):
        shutil.rmtree(copy, ignore_errors=True)
        before = checkpoint.reports()
        try:
            shutil.copytree(checkpoint.folder, copy, symlinks=True)
        except OSError:  # such as a file that was removed in the meantime
            continue
        if checkpoint.reports() == before == Checkpoint(copy).reports():
            return True
    return False
