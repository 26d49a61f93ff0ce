"""The picture that a run saves."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import (
    OURS,
    good,
    mentions,
    printed,
)

pytestmark = pytest.mark.usefixtures("folder")


class TestPicture:
    """The picture is named after the study, and nothing that others made is replaced."""

    def test_a_file_that_flexibo_did_not_draw_is_left_as_it_is(self, folder: Path) -> None:
        (folder / "toy.png").write_bytes(b"\x89PNG\r\n\x1a\n mine")
        shown = printed("run", "study.yaml", "--budget", "30s")
        assert mentions(shown, "toy.png", "--out")
        assert (folder / "toy.png").read_bytes().endswith(b" mine")

    def test_its_own_is_drawn_again_by_run_and_resume(self, folder: Path) -> None:
        printed("run", "study.yaml", "--budget", "30s")
        (folder / "toy.png").write_bytes(OURS + b"old")
        printed("resume", "--budget", "50s")
        assert not (folder / "toy.png").read_bytes().endswith(b"old")
        (folder / "toy.png").unlink()
        printed("run", "study.yaml", "--budget", "60s")
        assert (folder / "toy.png").exists()

    def test_one_that_is_typed_replaces_what_is_there(self, folder: Path) -> None:
        (folder / "mine.png").write_text("old")
        printed("run", "study.yaml", "--budget", "30s", "--out", "mine.png")
        assert (folder / "mine.png").read_bytes().startswith(OURS)
        assert not (folder / "toy.png").exists()

    def test_another_name_is_another_picture(self, folder: Path) -> None:
        printed("run", "study.yaml", "--budget", "30s", "--name", "second: try/2")
        assert (folder / "second-try-2.png").exists()

    def test_a_copy_of_a_study_has_its_picture_and_its_logs_beside_itself(self, folder: Path) -> None:
        text = (folder / "study.yaml").read_text()
        (folder / "study.yaml").write_text(text + "logs: logs\n")
        printed("run", "study.yaml", "--budget", "30s")
        logs = sorted((folder / "logs").iterdir())
        (folder / "toy.png").unlink()
        (folder / "copies").mkdir()
        for copy, beside in (("copy.db", ("copy-toy.png", "copy-logs")), ("copies/toy.db", ("toy.png", "toy-logs"))):
            good("backup", "toy.db", copy)
            good("resume", "--storage", f"sqlite:///{copy}", "--budget", "60s")
            assert all((folder / copy).with_name(name).exists() for name in beside)
            assert not (folder / "toy.png").exists()
            assert sorted((folder / "logs").iterdir()) == logs

    def test_a_folder_of_that_name_costs_only_the_picture(self, folder: Path) -> None:
        (folder / "toy.png").mkdir()
        assert mentions(printed("run", "study.yaml", "--budget", "30s"), "toy.png", "--out")
