"""Notes on stored studies."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexibo import Study
from flexibo.errors import FlexiBOError
from flexibo.history.events import Noted
from flexibo.study.notes import add_note


def stored(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/study.db"
    Study({"x": (0.0, 1.0)}, ["a", "b"], storage=url, name="net", seed=0).close()
    return url


def test_a_note_is_the_last_event_and_changes_no_question(tmp_path: Path) -> None:
    url = stored(tmp_path)
    with Study.load(url) as study:
        assert add_note(url, None, "fan replaced") == ("net", Noted("fan replaced"))
        first = study.ask()
        assert first is not None
        assert Noted("fan replaced") in study.events
    without = Study({"x": (0.0, 1.0)}, ["a", "b"], seed=0).ask()
    assert without is not None
    assert first.design == without.design


def test_a_note_without_text_or_of_a_study_that_is_not_there_is_refused(tmp_path: Path) -> None:
    url = stored(tmp_path)
    with pytest.raises(FlexiBOError):
        add_note(url, None, " ")
    with pytest.raises(FlexiBOError, match="'wrong'"):
        add_note(url, "wrong", "text")
    with pytest.raises(FlexiBOError):
        add_note(f"sqlite:///{tmp_path}/none.db", None, "text")
    assert not (tmp_path / "none.db").exists()
