from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from tests.unit.compare.made_runs import made

from flexibo.compare.results_folder import COPY, FRONTS, RESULTS, SETTINGS, ResultsFolder, locked
from flexibo.compare.runs import Allowance, read_runs
from flexibo.errors import InvalidValueError


def results(folder: Path, *, mark: str = "a", code: str = "x", allowance: Allowance | None = None) -> ResultsFolder:
    return ResultsFolder(
        folder, allowance or Allowance(), problems={"p": mark, "q": "b"}, methods={"m": code, "other": "y"}
    )


def test_a_journal_opened_again_has_what_was_finished(tmp_path: Path) -> None:
    results(tmp_path).add(made())
    (tmp_path / RESULTS).write_text((tmp_path / RESULTS).read_text() + "p,m,1,0,0,0.")
    again = results(tmp_path)
    assert again.runs == {("p", "m", 0): made()}
    assert len(read_runs(tmp_path / RESULTS)) == 1
    assert (tmp_path / RESULTS).read_text().endswith("\n")


def test_the_front_of_a_run_that_was_not_finished_is_not_kept(tmp_path: Path) -> None:
    one = results(tmp_path)
    one.add(made())
    with open(tmp_path / FRONTS, "a") as file:
        file.write("q,m,0,confirmed,1,2,,,,\n")
    results(tmp_path)
    assert "q,m" not in (tmp_path / FRONTS).read_text()


def test_runs_on_a_problem_that_has_changed_are_forgotten(tmp_path: Path) -> None:
    one = results(tmp_path)
    one.add(made("p"))
    one.add(made("q"))
    changed = results(tmp_path, mark="changed")
    assert set(changed.runs) == {("q", "m", 0)}
    assert changed.forgotten == 1


def test_runs_of_a_method_that_has_changed_are_forgotten(tmp_path: Path) -> None:
    one = results(tmp_path)
    one.add(made())
    one.add(made(method="other"))
    assert set(results(tmp_path, code="changed").runs) == {("p", "other", 0)}


def test_tables_with_runs_that_are_forgotten_are_kept_as_copies(tmp_path: Path) -> None:
    one = results(tmp_path)
    one.add(made())
    before = [(tmp_path / name).read_bytes() for name in (RESULTS, FRONTS)]
    assert results(tmp_path, code="changed").runs == {}
    assert [(tmp_path / f"{name}{COPY}").read_bytes() for name in (RESULTS, FRONTS)] == before


def test_runs_without_settings_are_not_removed(tmp_path: Path) -> None:
    results(tmp_path).add(made())
    before = (tmp_path / RESULTS).read_bytes()
    (tmp_path / SETTINGS).unlink()
    with pytest.raises(InvalidValueError, match=SETTINGS):
        results(tmp_path)
    assert (tmp_path / RESULTS).read_bytes() == before


def test_a_folder_keeps_to_its_terms(tmp_path: Path) -> None:
    results(tmp_path).add(made())
    with pytest.raises(InvalidValueError, match=r"budget 20\.0.* 30\.0"):
        results(tmp_path, allowance=Allowance(budget=30.0))
    assert len(results(tmp_path).runs) == 1


def test_settings_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_text("{")
    with pytest.raises(InvalidValueError, match="cannot be read"):
        results(tmp_path)


def test_settings_of_another_shape_are_refused(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_text('{"problems": []}')
    with pytest.raises(InvalidValueError, match="cannot be read"):
        results(tmp_path)


def test_a_kill_while_old_runs_are_forgotten_does_not_revive_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results(tmp_path).add(made())
    monkeypatch.setattr(ResultsFolder, "tidy", _killed)
    with pytest.raises(KeyboardInterrupt):
        results(tmp_path, mark="changed")
    monkeypatch.undo()
    again = results(tmp_path, mark="changed")
    assert (again.forgotten, again.runs) == (1, {})


def _killed(self: ResultsFolder) -> None:
    raise KeyboardInterrupt


def test_what_is_not_part_of_a_call_stays_known(tmp_path: Path) -> None:
    results(tmp_path).add(made("q"))
    ResultsFolder(tmp_path, Allowance(), problems={"p": "a"}, methods={"m": "x"})
    assert set(results(tmp_path).runs) == {("q", "m", 0)}


def test_a_full_disk_is_one_sentence_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = results(tmp_path)
    one.add(made())

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("flexibo.compare.results_folder.os.fsync", full)
    with pytest.raises(InvalidValueError, match=f"{tmp_path}.*{os.strerror(errno.ENOSPC)}"):
        one.add(made(seed=1))
    monkeypatch.undo()
    assert ("p", "m", 0) in results(tmp_path).runs


def test_two_comparisons_do_not_share_a_folder(tmp_path: Path) -> None:
    with (
        locked(tmp_path / "results"),
        pytest.raises(InvalidValueError, match=r"Another.*results"),
        locked(tmp_path / "results"),
    ):
        pass
    with locked(tmp_path / "results"):
        pass


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidValueError, match="cannot be written"), locked(tmp_path / "file" / "results"):
        pass


def test_a_comparison_from_scratch_is_kept_apart(tmp_path: Path) -> None:
    results(tmp_path).add(made())
    settings = tmp_path / SETTINGS
    settings.write_text(settings.read_text().replace(' "from_scratch": false,\n', ""))  # as older versions wrote it
    assert len(results(tmp_path).runs) == 1
    with pytest.raises(InvalidValueError, match=r"from_scratch False.* True"):
        results(tmp_path, allowance=Allowance(from_scratch=True))
