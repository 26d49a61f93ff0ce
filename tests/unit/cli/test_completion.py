"""What a shell completes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flexibo.cli import _completion, app
from flexibo.storage import open_storage


def completions(words: str, **variables: str) -> list[str]:
    """What bash is told to complete the last of these words with."""
    number = str(len(words.split(" ")) - 1)
    variables |= {"_FLEXIBO_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": number}
    done = CliRunner().invoke(app, [], prog_name="flexibo", env=variables)
    assert done.stderr == ""
    return str(done.stdout).split()


class TestCompletion:
    def test_the_names_are_those_of_the_tables(self) -> None:
        plots = pytest.importorskip("flexibo.plots")
        from flexibo.compare.problems.table import FAMILIES
        from flexibo.compare.suites import SUITES
        from flexibo.experiments import AUTHORS, EXPERIMENTS
        from flexibo.methods.table import METHODS
        from flexibo.systems.catalogue import SYSTEMS

        assert set(_completion.METHODS) == set(METHODS)
        assert set(_completion.PROBLEMS) == set(FAMILIES)
        assert set(_completion.SYSTEMS) == set(SYSTEMS)
        assert set(_completion.SUITES) == set(SUITES)
        assert set(_completion.PICTURES) == set(plots.PICTURES)
        assert set(_completion.EXPERIMENTS) == {*EXPERIMENTS, AUTHORS}

    def test_a_shell_completes_commands_and_names(self) -> None:
        assert completions("flexibo doc") == ["doctor"]
        assert completions("flexibo compare --methods ehv") == ["ehvi"]
        assert completions("flexibo compare --problems zdt") == ["zdt1", "zdt2", "zdt3"]
        assert completions("flexibo demo --method pes") == ["pesmo", "pesmo-dec"]

    def test_a_shell_completes_study_files_and_systems(self, tmp_path: Path) -> None:
        (tmp_path / "more").mkdir()
        for name in ("study.yaml", "speech.yml", "other.txt", "more/speech.yaml"):
            (tmp_path / name).touch()
        assert completions("flexibo run s") == ["speech.yml", "study.yaml", "squeezenet"]
        assert completions("flexibo run more/") == ["more/speech.yaml"]
        assert completions("flexibo run none/") == []
        assert completions("flexibo record le") == ["lenet"]

    def test_a_shell_completes_the_studies_of_a_database(self, tmp_path: Path) -> None:
        from flexibo import Study

        for name in ("net", "night", "other"):
            Study({"x": [1, 2]}, ["a", "b"], storage=f"sqlite:///{tmp_path / 'study.db'}", name=name).close()
        assert completions("flexibo status --name n") == ["net", "night"]

    @pytest.mark.parametrize(
        "storage", ["postgresql://ada:s3cret@127.0.0.1:1/studies", "nonsense", "sqlite:///none.db"]
    )
    def test_a_storage_that_cannot_be_read_completes_nothing(self, storage: str, tmp_path: Path) -> None:
        assert completions("flexibo status --name n", FLEXIBO_STORAGE=storage) == []
        assert not list(tmp_path.iterdir())

    def test_a_file_that_is_no_database_completes_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "study.db").write_text("no database")
        assert completions("flexibo status --name n") == []
        open_storage(f"sqlite:///{tmp_path / 'empty.db'}", "none")
        assert completions("flexibo status --name n", FLEXIBO_STORAGE="sqlite:///empty.db") == []

    def test_a_shell_can_be_told_to_complete(self) -> None:
        environment = {**os.environ, "_FLEXIBO_COMPLETE": "source_bash"}
        code = "import sys; sys.argv = ['flexibo']; from flexibo.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment
        )
        assert done.returncode == 0
        assert "complete" in done.stdout
        assert "_FLEXIBO_COMPLETE" in done.stdout
