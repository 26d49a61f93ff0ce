"""Finding a stored study, and loading it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.study.small_studies import SPACE, line

from flexibo import Objective, Study
from flexibo.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from flexibo.storage import MemoryStorage, NoSuchStorageError, StorageError
from flexibo.study.stored import stored_study


def test_a_loaded_study_is_the_stored_one() -> None:
    storage = MemoryStorage()
    objectives = [Objective("a", unit="%", options=["x"], resources={"GPU": 1}), Objective("b", "max", noisy=True)]
    study = Study(SPACE, objectives, storage=storage, budget=77, seed=5, n_initial=3, method="flexibo-rf-log")
    loaded = Study.load(storage)
    assert loaded.settings == study.settings
    assert loaded.objectives == study.objectives
    assert loaded.budget == 77
    assert loaded.events == study.events


def test_a_study_with_a_rule_is_loaded_with_it() -> None:
    from flexibo import Space

    storage = MemoryStorage()

    def rule(design: Any) -> bool:
        return bool(design["k"] < 3)

    Study(Space(SPACE, valid=rule), ["a", "b"], storage=storage, seed=0)
    with pytest.raises(InvalidValueError, match="without its rule"):
        Study.load(storage)
    assert Study.load(storage, valid=rule).space.valid is rule


def test_the_only_study_of_a_storage_needs_no_name(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    line(storage=url, name="net").close()
    storage, name, settings = stored_study(url, None)
    assert (name, settings["seed"]) == ("net", 0)
    assert len(storage.read()) == 2
    line(storage=url, name="other").close()
    with pytest.raises(InvalidValueError, match="'net', 'other'"):
        stored_study(url, None)
    assert stored_study(url, "other")[1] == "other"
    with pytest.raises(UnknownNameError, match=r"'nett'.*'net'"):
        stored_study(url, "nett")


def test_a_storage_without_the_study_is_no_such_storage(tmp_path: Path) -> None:
    with pytest.raises(NoSuchStorageError, match=r"study\.db"):
        stored_study(f"sqlite:///{tmp_path / 'study.db'}", None)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "study.db").touch()
    with pytest.raises(NoSuchStorageError, match=r"study\.db.* no studies"):
        stored_study(f"sqlite:///{tmp_path / 'study.db'}", "net")
    with pytest.raises(NoSuchStorageError, match="'net'"):
        stored_study(MemoryStorage(), "net")


def test_a_study_whose_beginning_is_damaged_is_not_loaded() -> None:
    storage = MemoryStorage()
    storage.commit(0, lambda _: [{"event": "budget", "budget": 7.0}])
    with pytest.raises(StorageError, match=r"^Event 0 of study 'study'.*'created'"):
        stored_study(storage, None)


@pytest.mark.parametrize("storage", [None, 5])
def test_what_is_no_storage_is_refused(storage: Any) -> None:
    with pytest.raises(InvalidTypeError, match="sqlite:///"):
        Study.load(storage)
