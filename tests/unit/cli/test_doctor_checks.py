"""What ``flexibo doctor`` checks besides packages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests import command_line
from tests.command_line import mentions

from flexibo import Objective, Study
from flexibo.cli import _doctor_checks as checks
from flexibo.cli._doctor_findings import Finding
from flexibo.storage import open_storage


@pytest.fixture(autouse=True)
def _torch_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_TORCH", "print('torch sees no GPU')")


def call(*arguments: object) -> Any:
    """The outcome of a doctor that is patient, as on a crowded machine."""
    return command_line.call("doctor", "--limit", "300s", *arguments)


class TestStorages:
    def look(self, url: str) -> Finding:
        (finding,) = checks._storage(url)
        return finding

    def test_a_storage_that_was_named_is_tried(self, tmp_path: Path) -> None:
        open_storage("sqlite:///study.db", "net").commit(0, lambda _: [{"event": "note", "text": "x"}])
        finding = self.look("sqlite:///study.db")
        assert finding.state == "good"
        assert mentions(finding.text, "sqlite:///study.db", "1 study")
        assert self.look("sqlite:///none.db").state == "wrong"
        assert call("--storage", "sqlite:///none.db").exit_code == 1
        assert call("--storage", "sqlite:///study.db").exit_code == 0

    def test_the_checkpoints_of_studies_with_steps_are_found_and_must_be_writable(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path / 'study.db'}"
        Study({"x": [1, 2]}, ["a", "b"], storage=url, name="plain").close()
        assert list(checks._checkpoints(url)) == list(checks._checkpoints("")) == []
        Study({"x": [1, 2]}, [Objective("a", steps=9), "b"], storage=url, name="stepwise").close()
        folder = tmp_path / "study.db.checkpoints"
        folder.mkdir()
        (folder / "model").write_bytes(bytes(2_000_000))
        (finding,) = checks._checkpoints(url)
        assert (finding.state, finding.remedy) == ("good", "")
        assert mentions(finding.text, str(folder), "2 MB", "free")
        (folder / "model").unlink()
        folder.rmdir()
        folder.write_text("in the way")
        (finding,) = checks._checkpoints(url)
        assert finding.state == "wrong"

    def test_the_proxies_of_studies_are_found_with_what_is_to_know_about_them(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path / 'study.db'}"
        Study({"x": [1, 2]}, ["a", "b"], storage=url, name="plain").close()
        assert list(checks._proxies(url)) == list(checks._proxies("")) == []
        objectives = [Objective("a", proxies=["p"]), "b", Objective("p", optimise=False)]
        Study({"x": [1, 2]}, objectives, storage=url, name="good").close()
        Study({"x": [1, 2]}, objectives, storage=url, name="vain", method="random").close()
        good, vain = checks._proxies(url)
        assert (good.state, good.remedy) == (vain.state, "") == ("good", "")
        assert mentions(good.text, "'good'", "a proxy: p of a")
        assert mentions(vain.remedy, "p ", "not asked for")

    def test_a_network_file_system_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(checks, "network_type", lambda url: "nfs4")
        open_storage("sqlite:///study.db", "net").commit(0, lambda _: [{"event": "note", "text": "x"}])
        finding = self.look("sqlite:///study.db")
        assert finding.state == "good"
        assert mentions(finding.text, "sqlite:///study.db", "nfs4")
        assert "PostgreSQL" in finding.remedy

    def test_a_password_is_never_printed(self) -> None:
        pytest.importorskip("psycopg")
        outcome = call("--storage", "postgresql://ada:s3cret@127.0.0.1:1/studies", "--json")
        assert outcome.exit_code == 1
        assert "ada:***@127.0.0.1:1" in outcome.stdout
        assert "s3cret" not in outcome.output

    def test_a_driver_that_says_everything_is_not_quoted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def talkative(url: str) -> None:
            raise RuntimeError(f"cannot connect with {url}")

        monkeypatch.setattr(checks, "stored_studies", talkative)
        finding = self.look("postgresql://ada:s3cret@host/studies")
        assert finding.state == "wrong"
        assert mentions(finding.text, "postgresql://ada:***@host/studies", "RuntimeError")
        assert "s3cret" not in f"{finding.text}{finding.remedy}"


class TestMachine:
    def test_slurm_is_asked_for_its_partitions(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program = tmp_path / "sinfo"
        program.write_text("#!/bin/sh\nprintf 'cpu*\\ngpu\\n'")
        program.chmod(0o755)
        monkeypatch.setattr(checks, "SINFO_SECONDS", 60.0)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        (finding,) = checks._slurm(60)
        assert finding.state == "good"
        assert mentions(finding.text, "cpu*", "gpu")
        program.write_text("#!/bin/sh\nexit 1")
        assert [one.state for one in checks._slurm(60)] == ["absent"]
        program.unlink()
        monkeypatch.setenv("PATH", str(tmp_path))
        assert [one.state for one in checks._slurm(60)] == ["absent"]

    def test_gpus_come_from_their_driver(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program = tmp_path / "nvidia-smi"
        program.write_text("#!/bin/sh\necho 'NVIDIA H200, 143771 MiB, 570.1'\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        assert [(one.state, one.text) for one in checks._gpus(60)] == [("good", "NVIDIA H200, 143771 MiB, 570.1")]
        program.write_text("#!/bin/sh\necho 'no driver' >&2\nexit 9\n")
        assert [(one.state, one.text) for one in checks._gpus(60)] == [("wrong", "no driver")]
        program.unlink()
        monkeypatch.setenv("PATH", str(tmp_path))
        assert [one.state for one in checks._gpus(60)] == ["absent"]

    def test_a_cluster_that_was_named_is_tried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(checks, "find_spec", lambda name: None)
        (finding,) = checks._cluster("dask", "tcp://127.0.0.1:1", 60)
        assert mentions(finding.text, "tcp://127.0.0.1:1", "distributed")
        assert (finding.state, finding.remedy) == ("wrong", "pip install 'flexibo[dask]'")
        monkeypatch.setattr(checks, "find_spec", lambda name: object())
        monkeypatch.setattr(checks, "_CLUSTER", "import sys; sys.exit('nobody at ' + sys.argv[2])")
        (finding,) = checks._cluster("ray", "10.0.0.1:6379", 60)
        assert (finding.state, finding.text) == ("wrong", "nobody at 10.0.0.1:6379")
        monkeypatch.setattr(checks, "_CLUSTER", "")
        (finding,) = checks._cluster("ray", "10.0.0.1:6379", 60)
        assert (finding.state, finding.text) == ("good", "10.0.0.1:6379 answers")

    def test_folders_are_looked_into(self, tmp_path: Path) -> None:
        (finding,) = checks._folder(str(tmp_path / "none"))
        assert (finding.state, finding.remedy) == ("wrong", f"mkdir -p {tmp_path / 'none'}")
        assert [one.state for one in checks._folder(str(tmp_path))] == ["good"]
        (tables,) = checks._tables(str(tmp_path))
        assert tables.state == "absent"
        assert re.fullmatch(r"0 of \d+ optional recorded tables", tables.text)
        (tmp_path / "recorded").mkdir()
        from flexibo.compare.problems.datasets import DATASETS

        first = next(iter(DATASETS.values()))
        (tmp_path / "recorded" / first.file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "recorded" / first.file).write_text("nonsense\n1\n")
        assert [one.state for one in checks._tables(str(tmp_path))] == ["wrong"]

    def test_settings_that_a_killed_session_left_are_found(self, tmp_path: Path) -> None:
        assert list(checks._journal({"XDG_STATE_HOME": str(tmp_path)})) == []
        (tmp_path / "flexibo").mkdir()
        (tmp_path / "flexibo" / "knobs.json").write_text("{}")
        (finding,) = checks._journal({"XDG_STATE_HOME": str(tmp_path)})
        assert (finding.state, finding.remedy) == ("wrong", "flexibo knobs restore")

    def test_every_finding_is_of_its_check(self) -> None:
        for check in checks.checks(limit=60.0):
            assert all(one.group == check.group for one in check.look()), check.name
