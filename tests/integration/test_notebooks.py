"""The notebooks of the documentation run, and a real kernel is interrupted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbconvert")
pytest.importorskip("ipykernel")

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted(DOCS.rglob("*.ipynb"))
MOST_BYTES = 100_000
SECONDS = 300

INTERRUPTED_RUN = """
import json, sys
from pathlib import Path
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
try:
    client.execute('''
import time
from pathlib import Path
from flexibo import Study

def a(design):
    if study.spent >= 4 and not Path("under-way").exists():
        Path("under-way").touch()
        time.sleep(100)
    return design["x"], 1.0

study = Study({"x": (0.0, 1.0)}, ["a", "b"], budget=12, seed=0, n_initial=3, candidates=50, storage="sqlite:///s.db")
functions = {"a": a, "b": lambda design: (1 - design["x"], 1.0)}
study.run(functions)
''')
    shown = []
    def messages(is_interrupted=False):
        sent = not is_interrupted
        while True:
            if not sent and Path("under-way").exists():
                manager.interrupt_kernel()
                sent = True
            try:
                message = client.get_iopub_msg(timeout=0.2)
            except Exception:
                continue
            shown.append((message["msg_type"], message["content"]))
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                if sent and any(kind == "display_data" for kind, _ in shown):
                    return
    messages(is_interrupted=True)
    first = list(shown)
    shown.clear()
    client.execute("study.run(functions)")
    messages()
    print(json.dumps([first, shown], default=str))
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
"""


def environment(folder: Path) -> dict[str, str]:
    """Nothing of the user's own Jupyter is read or written."""
    own = {name: str(folder / name) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    return {**os.environ, **own, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def outputs(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_every_notebook_of_the_documentation_runs(path: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(DOCS / "run_notebooks.py"), str(path), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(tmp_path), timeout=SECONDS)
    assert done.returncode == 0, done.stderr[-4000:]
    found, stored = (json.loads((folder / path.name).read_text()) for folder in (tmp_path, path.parent))
    kinds = [output["output_type"] for output in outputs(found)]
    assert {"error", "stream"}.isdisjoint(kinds)
    assert kinds == [output["output_type"] for output in outputs(stored)]  # what the page shows is what one gets
    assert sum("<svg" in "".join(output["data"].get("text/html", "")) for output in outputs(found)) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_stored_notebooks_are_small_and_say_nothing_about_the_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text) < MOST_BYTES
    assert "/tmp" not in text
    assert all(cell.get("execution_count") is None for cell in json.loads(text)["cells"])
    assert outputs(json.loads(text))


@pytest.mark.slow
def test_an_interrupt_of_the_kernel_stops_the_run_and_the_same_cell_resumes_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED_RUN]
    env = environment(tmp_path)
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=SECONDS)
    assert done.returncode == 0, done.stderr[-4000:]
    first, second = json.loads(done.stdout.splitlines()[-1])
    for messages, said in ((first, "Study.load('sqlite:///"), (second, "12 of 12")):
        kinds = [kind for kind, _ in messages]
        assert kinds.count("display_data") == 1
        assert {"error", "stream", "execute_result"}.isdisjoint(kinds)
        last = [content for kind, content in messages if kind == "update_display_data"][-1]
        assert said in last["data"]["text/plain"]
