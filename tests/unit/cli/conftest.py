"""Fixtures of the command line: an empty folder, a stored study, a study file, a toy system, small training data."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command_line import (
    BOARD_FILE,
    HOSTILE,
    OURS,
    STUDY_FILE,
    asked,
    begun,
    copied,
    energy,
    error,
    worked,
    write_mnist,
)

from flexibo import Objective, Space, Study
from flexibo.systems.base import System


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Other Pythons run the help of every command and some cases.

    They are the first of each test on the oldest Python, and the first of each class and file on a newer one.
    """
    seen: set[str] = set()
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.name != "test_help.py":
            place = item.nodeid.partition("[")[0]
            if sys.version_info >= (3, 11):
                place = place.rpartition("::")[0]
            if place in seen:
                item.add_marker("variant")
            elif not any(map(item.get_closest_marker, ("slow", "long", "torch"))):
                seen.add(place)


@pytest.fixture(autouse=True, scope="module")
def _quick_models() -> Iterator[None]:
    """Models keep the hyperparameters that their search would begin with: how good they are does not matter here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flexibo.surrogates.gaussian_process.minimum", lambda loss, begin: begin[0])
        yield


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has a folder of its own, and no storage by default."""
    for variable in ("FLEXIBO_STORAGE", "FLEXIBO_DATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    before = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = before[0]
    for module in set(sys.modules) - before[1]:
        if not module.startswith("flexibo") and str(getattr(sys.modules[module], "__file__", "")).startswith(
            str(tmp_path)
        ):
            del sys.modules[module]


@pytest.fixture(scope="session")
def stored_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of a study that has a bit of everything, made once for all tests."""
    path = tmp_path_factory.mktemp("stored") / "study.db"
    with begun(url=f"sqlite:///{path}") as study:
        worked(study, 7)
        study.fail(asked(study), f"burnt {HOSTILE}\nand gone", cost=2.0)
        study.note(f"The fan was repaired {HOSTILE}")
    return path


@pytest.fixture
def study(stored_study: Path) -> Iterator[Study]:
    """A copy of that study with an evaluation in flight, whose worker is this process."""
    copied(stored_study)
    with Study.load("sqlite:///study.db") as study:
        asked(study)
        yield study


@pytest.fixture(scope="session")
def new_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of a study with objectives that come together, of which nothing is asked yet."""
    path = tmp_path_factory.mktemp("new") / "study.db"
    objectives = [Objective("error"), Objective("energy", unit="J"), Objective("ms", measured_with="energy")]
    begun(url=f"sqlite:///{path}", objectives=objectives, n_initial=2).close()
    return path


@pytest.fixture
def by_hand(new_study: Path) -> None:
    """A copy of that study, for ``flexibo ask`` and ``flexibo tell``."""
    copied(new_study)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> System:
    """A system whose recorded table is a formula."""
    objectives = (Objective("error_percent"), Objective("energy_millijoules", unit="mJ"))
    functions = {"error_percent": error, "energy_millijoules": energy}
    system = System("toy-table", Space({"x": [i / 20 for i in range(21)], "k": [1, 2, 3]}), objectives, functions)
    monkeypatch.setattr("flexibo.cli._build_system.recorded_system", lambda name, **how: system)
    monkeypatch.setattr("flexibo.plots.save", _drawn)
    return system


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder with a study file, as the working folder."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("flexibo.plots.save", _drawn)
    (tmp_path / "study.yaml").write_text(STUDY_FILE)
    (tmp_path / "board.py").write_text(BOARD_FILE)
    yield tmp_path
    sys.modules.pop("board", None)


def _drawn(study: Study, out: Path) -> None:
    """Instead of a picture, which takes long to draw."""
    out.write_bytes(OURS + f"{len(study.front())} designs".encode())


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    """A folder with MNIST in its own format, but small."""
    write_mnist(tmp_path)
    return tmp_path
