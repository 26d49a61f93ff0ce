"""The example that reads a network on a board: alone, with the page's export, and in the page's study."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_line import good
from tests.unit.hardware.boards.fake_xavier import fake_ssh, installed, program, xavier

from flexibo import Study
from flexibo.hardware.boards import SshPlace, install

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples/board/read_model.py"
PAGE = (ROOT / "docs/howto/boards.md").read_text(encoding="utf-8")
WATTS = 100
TRTEXEC = """#!/bin/sh
# loads an engine for 400 J, then runs it with 100 W for 0.2 s instead of each second
for word; do case $word in --duration=*) seconds=${word#*=} ;; --loadEngine=*) file=${word#*=} ;; esac; done
[ -e "$file" ] || { echo "[E] Error opening engine file: $file"; exit 1; }
sleep "$(expr $seconds / 5).$(expr $seconds \\* 2 % 10)"
echo $(expr $(cat counter) + 400 + 20 \\* $seconds) > counter
echo "[I] Average on 10 runs - GPU latency: 2.5 ms - Host latency: 2.7 ms (end to end 4 ms, enqueue 1 ms)"
echo "[I] Average on 10 runs - GPU latency: 2.5 ms - Host latency: 2.7 ms (end to end 4 ms, enqueue 1 ms)"
"""


def block(name: str) -> str:
    """The file of that name on the page."""
    return next(text for text in re.findall(r"```\w+\n(.*?)```", PAGE, flags=re.DOTALL) if text.startswith(f"# {name}"))


def read(python: str, folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The script after it was run in a folder, with an agent beside it."""
    command = [python, str(SCRIPT), *words, "--agent", str(installed(folder))]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})


def test_it_is_short_and_python_3_6() -> None:
    text = SCRIPT.read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=(3, 6))
    assert text.count("\n") < 100
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {name.split(".")[0] for name in imported - {"torch"}} < set(sys.stdlib_module_names)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert not {keyword.arg for call in calls for keyword in call.keywords} & {"capture_output", "text", "encoding"}


@pytest.mark.parametrize("version", ["3.6", "3.8", "this"])
def test_an_engine_is_run_by_trtexec_and_loading_does_not_count(tmp_path: Path, version: str) -> None:
    kept = sorted(Path(sys.base_prefix).parent.glob(f"{version}*/bin/python"))
    python = sys.executable if version == "this" else str(kept[0]) if kept else shutil.which(f"python{version}")
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    program(tmp_path / "bin/trtexec", TRTEXEC)
    (tmp_path / "counter").write_text("1000\n")
    (tmp_path / "lenet.engine").touch()
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    words = ("--batch", "16", "--seconds", "4", "--meter", "echo $(cat counter) J")
    done = read(python, tmp_path, "lenet.engine", *words, PATH=path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {"ms": 2.5, "millijoules": pytest.approx(WATTS * 2.5 / 16, rel=0.5)}
    done = read(python, tmp_path, "gone.engine", *words, PATH=path)
    assert (done.returncode, "gone.engine" in done.stderr, "Traceback" in done.stderr) == (1, True, False)


def test_what_is_no_meter_is_a_sentence(tmp_path: Path) -> None:
    done = read(sys.executable, tmp_path, "lenet.pt", "--meter", "rapll")
    assert (done.returncode, done.stdout, "rapll" in done.stderr) == (1, "", True)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.torch
def test_the_pages_networks_are_exported_read_and_measured_in_its_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    here, work = tmp_path / "here", tmp_path / "there/home/work"
    for folder in (here, work):
        folder.mkdir(parents=True)
    export = block("export.py").replace("(16, 64, 256)", "(16,)").replace("(1, 16)", "(1,)")
    (here / "export.py").write_text(export)
    subprocess.run([sys.executable, "export.py"], cwd=here, check=True)
    assert (here / "lenet-16-1.onnx").stat().st_size > 10_000
    for file in (SCRIPT, here / "lenet-16.pt"):
        shutil.copy(file, work)

    root = xavier(tmp_path / "xavier")
    monkeypatch.setenv("PATH", str(fake_ssh(tmp_path / "there", root)), prepend=":")
    install(SshPlace("nano@board"))
    monkeypatch.chdir(here)
    text = block("lenet.yaml")
    for shown, there in {
        "nano@192.168.0.7": "nano@board",
        "  sudo: true\n": "",
        "[16, 64, 256]": "[16]",
        "{unordered: [fp32, fp16]}": "[fp32]",
        "[0.52275, 0.90525, 1.377]": "[0.459, 1.377]",
        "python3 read_model.py": f"{sys.executable} read_model.py",
        "--meter auto": "--meter 'echo 5 W' --seconds 0.2",
        "python3 error.py {width}": "echo 3",
    }.items():
        assert shown in text
        text = text.replace(shown, there)
    (here / "lenet.yaml").write_text(text + "n_initial: 1\nstop: {max_evaluations: 2}\n")
    good("run", "lenet.yaml")
    study = Study.load("sqlite:///lenet-on-xavier.db", "lenet-on-xavier")
    readings = [one for one in study.history.measurements if "millijoules" in one.values]
    assert readings
    for one in readings:
        assert one.values["millijoules"] == pytest.approx(5 * one.values["ms"] / one.design["batch"], rel=0.5)
