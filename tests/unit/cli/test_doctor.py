"""flexibo doctor: what is here, what is missing, and never a hang or a secret."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flexibo.cli import _doctor_checks as checks
from flexibo.cli import app
from flexibo.cli._doctor_checks import Wanted
from flexibo.cli._doctor_findings import Check, Finding, found, output_of, python_says
from flexibo.cli._doctor_packages import DEPENDENCIES, EXTRAS, dependencies, extras
from flexibo.cli.doctor import _failed, _lines
from flexibo.errors import UnknownNameError
from flexibo.storage import open_storage

ROOT = Path(__file__).parents[3]
HOSTILE = "red\x1b[31m"


def call(*arguments: object) -> Any:
    """The outcome of a doctor that is patient, as on a crowded machine."""
    return CliRunner().invoke(app, ["doctor", "--limit", "300s", *map(str, arguments)], catch_exceptions=True)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is asked for, and what takes seconds on a real machine is quick."""
    for variable in ("FLEXIBO_STORAGE", "FLEXIBO_DATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(checks, "_TORCH", "print('torch sees no GPU')")


class TestReport:
    def test_everything_is_looked_at_and_nothing_that_is_missing_is_a_failure(self) -> None:
        outcome = call()
        assert outcome.exit_code == 0, (outcome.output, outcome.exception)
        headings = [line for line in outcome.stdout.splitlines() if re.fullmatch(r"[A-Z]\w+", line)]
        assert headings == [
            *("Python", "Packages", "Extras", "Meters", "GPUs", "Databases", "Clusters", "Look", "Data", "Knobs")
        ]
        assert "Everything that is needed is good." in outcome.stdout
        assert max(map(len, outcome.stdout.splitlines())) <= 80
        assert re.search(r"✓ numpy +\d", outcome.stdout)

    def test_a_program_reads_the_same(self) -> None:
        outcome = call("--json")
        assert (outcome.exit_code, outcome.stderr) == (0, "")
        report = json.loads(outcome.stdout)
        assert (report["good"], report["failed"]) == (True, [])
        names = [one["name"] for one in report["findings"]]
        assert {"python", "numpy", "plot", "rapl-meter", "gpu", "sqlite", "storage", "browser", "knobs"} <= set(names)
        assert len(names) == len(set(names))
        assert {one["state"] for one in report["findings"]} <= {"good", "absent", "wrong"}

    def test_what_is_needed_decides_the_status(self) -> None:
        present = [Finding("Extras", "plot", "good", ""), Finding("Meters", "rapl-meter", "absent", "")]
        assert _failed(present, {"plot"}) == []
        assert _failed(present, {"plot", "rapl-meter"}) == ["rapl-meter"]
        assert _failed([Finding("Packages", "numpy", "wrong", "")], set()) == ["numpy"]
        assert call("--need", "sqlite").exit_code == 0
        outcome = call("--need", "sqlite,data")
        assert outcome.exit_code == 1
        assert "Not good, but needed: data." in outcome.stdout

    def test_an_unknown_need_is_a_mistake(self) -> None:
        outcome = call("--need", "plott")
        assert isinstance(outcome.exception, UnknownNameError)
        assert "did you mean 'plot'?" in str(outcome.exception)

    def test_what_others_wrote_is_only_text(self) -> None:
        finding = Finding("Data", "data", "wrong", f"{HOSTILE} is no folder", f"mkdir {HOSTILE}")
        assert all("\x1b" not in line for line in _lines([finding], [], 80))


class TestPackages:
    def test_the_tables_are_those_of_the_project(self) -> None:
        text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        needed = re.search(r"^dependencies = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
        assert needed is not None
        assert set(re.findall(r'"([^"]+)"', needed[1])) == set(DEPENDENCIES)
        section = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
        stated = {
            name: tuple(re.findall(r'"([^"]+)"', packages))
            for name, packages in re.findall(r"^(\w+) = \[(.*)\]$", section, re.MULTILINE)
        }
        for people in ("test", "docs", "dev"):
            stated.pop(people)
        assert stated == {name: extra.packages for name, extra in EXTRAS.items()}

    def test_a_missing_or_old_package_comes_with_the_command_to_get_it(self) -> None:
        def installed(name: str) -> str:
            if name in ("numpy", "matplotlib"):
                raise PackageNotFoundError(name)
            return {"rich": "12.9.1", "uvicorn": "0.2"}.get(name, "9999.1+cu121")

        core = {one.name: one for one in dependencies(installed)}
        assert (core["numpy"].state, core["numpy"].remedy) == ("wrong", "pip install 'numpy>=1.26'")
        assert core["rich"].text.startswith("12.9.1 is too old (13.0 or later)")
        assert core["scipy"].state == "good"
        more = {one.name: one for one in extras(installed)}
        assert (more["plot"].state, more["plot"].remedy) == ("absent", "pip install 'flexibo[plot]'")
        assert more["dashboard"].text == "uvicorn 0.2 is too old (0.34 or later): the live dashboard"
        assert more["pandas"].state == "good"


class TestLimits:
    @pytest.mark.slow
    def test_a_check_that_never_ends_is_left_alone(self) -> None:
        ended = threading.Event()

        def forever() -> Iterator[Finding]:
            ended.wait(600)
            yield Finding("A", "slow", "good", "late")

        quick = Check("B", "quick", lambda: [Finding("B", "quick", "good", "here")])
        fine, slow = found([quick, Check("A", "slow", forever)], limit=3.0)
        ended.set()
        assert (slow.name, slow.state, slow.text) == ("slow", "wrong", "It did not answer within 3 s.")
        assert fine.text == "here"

    def test_a_check_that_breaks_does_not_hide_the_others(self) -> None:
        def broken() -> Iterator[Finding]:
            raise RuntimeError("no such bus")

        (finding,) = found([Check("A", "bus", broken)], limit=30.0)
        assert (finding.state, finding.text) == ("wrong", "RuntimeError: no such bus")

    def test_a_program_that_never_ends_is_killed(self) -> None:
        assert output_of(["sleep", "60"], limit=0.2) == (1, "It did not answer within 0.2 s.")

    def test_a_program_that_cannot_be_run_or_fails_says_so(self) -> None:
        assert output_of(["/nowhere/program"], limit=30)[0] == 1
        status, said = python_says("import sys; print('a\\nb', file=sys.stderr); sys.exit(7)", limit=60)
        assert (status, said) == (7, "b")
        assert python_says("print('fine')", limit=60) == (0, "fine\n")


class TestStorages:
    def look(self, url: str) -> Finding:
        (finding,) = checks._storage(url)
        return finding

    def test_a_storage_that_was_named_is_tried(self, tmp_path: Path) -> None:
        open_storage("sqlite:///study.db", "net").commit(0, lambda _: [{"event": "note", "text": "x"}])
        assert self.look("sqlite:///study.db").text == "sqlite:///study.db holds 1 study"
        assert self.look("sqlite:///none.db").state == "wrong"
        assert call("--storage", "sqlite:///none.db").exit_code == 1
        assert call("--storage", "sqlite:///study.db").exit_code == 0

    def test_a_password_is_never_printed(self) -> None:
        pytest.importorskip("psycopg")
        outcome = call("--storage", "postgresql://ada:s3cret@127.0.0.1:1/studies", "--json")
        assert outcome.exit_code == 1
        assert "ada:***@127.0.0.1:1" in outcome.stdout
        assert "s3cret" not in outcome.output

    def test_a_driver_that_says_everything_is_not_quoted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def talkative(url: str) -> None:
            raise RuntimeError(f"cannot connect with {url}")

        monkeypatch.setattr("flexibo.storage.stored_studies", talkative)
        finding = self.look("postgresql://ada:s3cret@host/studies")
        assert finding.text == "postgresql://ada:***@host/studies cannot be used (RuntimeError)."


class TestMachine:
    def test_gpus_come_from_their_driver(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program = tmp_path / "nvidia-smi"
        program.write_text("#!/bin/sh\necho 'NVIDIA H200, 143771 MiB, 570.1'\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        assert [(one.state, one.text) for one in checks._gpus(60)] == [("good", "NVIDIA H200, 143771 MiB, 570.1")]
        program.write_text("#!/bin/sh\necho 'driver is not loaded' >&2\nexit 9\n")
        assert [(one.state, one.text) for one in checks._gpus(60)] == [("wrong", "driver is not loaded")]
        program.unlink()
        monkeypatch.setenv("PATH", str(tmp_path))
        assert [one.state for one in checks._gpus(60)] == ["absent"]

    def test_a_cluster_that_was_named_is_tried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        (finding,) = checks._cluster("dask", "tcp://127.0.0.1:1", 60)
        assert finding.text == "tcp://127.0.0.1:1 was not tried: distributed is not installed."
        assert (finding.state, finding.remedy) == ("wrong", "pip install 'flexibo[dask]'")
        monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
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
        assert re.fullmatch(r"0 of \d+ recorded tables", tables.text)
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
        wanted = Wanted(limit=60.0)
        for check in checks.checks(wanted):
            assert all(one.group == check.group for one in check.look()), check.name
