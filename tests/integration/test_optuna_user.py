"""An Optuna user continues a stored study in flexibo, with the lines of the page, in other processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.integration.test_documentation import DOCS, blocks

pytest.importorskip("optuna")
pytestmark = pytest.mark.slow
FIVE_MINUTES = 300.0
CREATED = 'optuna.create_study(directions=["minimize", "minimize"])'
STORED = """
optuna.create_study(study_name="net", storage="sqlite:///optuna.db", directions=["minimize", "minimize"])
"""
LOADED = 'import optuna\n\nstudy = optuna.load_study(study_name="net", storage="sqlite:///optuna.db")\n'
CHECKED = """
import json

values = [trial.values for trial in optuna.load_study(study_name="net", storage="sqlite:///optuna.db").trials]
told = {(row.values["error"], row.values["energy"]) for row in known.results if row.values}
print(json.dumps({
    "trials": len(values),
    "known": sum(tuple(pair) in told for pair in values),
    "spent": continued.spent,
    "errors": sum(row.objective == "error" for row in continued.trace()),
    "energies": sum(row.objective == "energy" for row in continued.trace()),
    "front": len(continued.front()),
}))
"""


def ran(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=FIVE_MINUTES,
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_a_stored_study_of_optuna_is_continued_objective_by_objective_within_five_minutes(tmp_path: Path) -> None:
    first, _, objective_by_objective, *_ = (block.text for block in blocks(DOCS / "howto" / "optuna.md", "python"))
    assert CREATED in first
    start = time.monotonic()
    ran(first.replace(CREATED, STORED.strip()), tmp_path)
    found = json.loads(ran(LOADED + objective_by_objective + CHECKED, tmp_path).splitlines()[-1])
    assert found["trials"] == found["known"] == 8
    assert 0 < found["spent"] <= 400
    assert found["energies"] > found["errors"] > 0
    assert found["front"] >= 1
    assert time.monotonic() - start < FIVE_MINUTES
