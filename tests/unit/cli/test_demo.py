"""``flexibo demo``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_line import call, energy, error, good, history, mentions, refusal

from flexibo import Objective, Space, Study
from flexibo.cli.demo import new_database
from flexibo.optimizer import StopKind
from flexibo.systems.base import System

DEMO = ("demo", "--budget", "40")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that is a formula, and a picture that is not drawn."""
    space = Space({"x": [i / 20 for i in range(21)], "k": [1, 2, 3]})
    objectives = (Objective("error"), Objective("energy", unit="J"))
    system = System("digits", space, objectives, {"error": error, "energy": energy}, ())
    monkeypatch.setattr("flexibo.systems.digits.digits_system", lambda: system)
    monkeypatch.setattr("flexibo.plots.save", lambda study, out: out.write_bytes(b"a picture"))


@pytest.mark.slow
def test_the_demo_prints_its_front_saves_a_picture_and_keeps_its_study(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "flexibo", "demo", "--budget", "5", "--out", "front.png"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Confirmed front" in result.stdout
    assert (tmp_path / "front.png").stat().st_size > 10_000
    assert history(f"sqlite:///{tmp_path / 'demo.db'}").spent > 2.0


@pytest.mark.usefixtures("small")
def test_the_demo_says_what_to_try_next_and_all_of_it_works() -> None:
    shown = good(*DEMO)
    assert mentions(shown, "demo.db", "flexibo front", "flexibo confirm", "flexibo resume", "--budget 80s", "dashboard")
    assert Path("flexibo-demo.png").exists()
    good("front")
    before = history("sqlite:///demo.db")
    good("confirm", "--budget", "20s")
    good("resume", "--budget", "80s")
    after = history("sqlite:///demo.db")
    assert before.spent <= 40.0 < after.spent


@pytest.mark.usefixtures("small")
def test_an_existing_file_is_not_overwritten_and_the_commands_name_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("demo.db").write_text("a letter")
    assert mentions(good(*DEMO), "flexibo front --storage sqlite:///demo-2.db")
    assert Path("demo.db").read_text() == "a letter"
    Path("demo.db").unlink()
    monkeypatch.setenv("FLEXIBO_STORAGE", "postgresql://ada@host/studies")
    assert mentions(good(*DEMO), "flexibo front --storage sqlite:///demo.db")


def test_the_next_database_is_the_first_that_does_not_exist(tmp_path: Path) -> None:
    assert new_database(tmp_path) == tmp_path / "demo.db"
    (tmp_path / "demo.db").mkdir()
    (tmp_path / "demo-2.db").symlink_to(tmp_path / "nowhere")
    assert new_database(tmp_path) == tmp_path / "demo-3.db"


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("typed", [("--budget", "0"), ("--budget", "nan"), ("--method", "flexbo")])
def test_a_mistake_leaves_nothing_behind(typed: tuple[str, str]) -> None:
    assert mentions(refusal("demo", *typed), typed[1])
    assert list(Path().iterdir()) == []


@pytest.mark.usefixtures("small")
def test_the_demo_ends_with_the_status_of_an_interruption_and_can_be_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Study, *_: object, **__: object) -> None:
        self.record_stop(StopKind.INTERRUPTED, "Interrupted; what was measured is kept.")

    with monkeypatch.context() as patch:
        patch.setattr(Study, "run", stop)
        outcome = call(*DEMO, env={"COLUMNS": "200"})
    assert outcome.exit_code == 130, (outcome.output, outcome.exception)
    assert "flexibo resume" in outcome.stdout
    assert {path.suffix for path in Path().iterdir()} <= {".db", ".db-wal", ".db-shm"}, "no picture"
    good("resume")
    assert history("sqlite:///demo.db").spent > 30.0
