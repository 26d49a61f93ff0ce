from __future__ import annotations

import json
from pathlib import Path

import pytest

from flexibo.compare import stored_results as stored
from flexibo.compare.results_folder import FRONTS, RESULTS, SETTINGS, ResultsFolder, locked
from flexibo.compare.rivals.base import RivalEntry
from flexibo.compare.runs import SHARES, Allowance, Moment, Run, read_runs, write_runs
from flexibo.compare.stored_results import StoredResults, add, describe, store, stored_runs
from flexibo.errors import InvalidValueError


def made(problem: str = "p", method: str = "m", seed: int = 0, *, error: float = 0.5) -> Run:
    moments = tuple(
        Moment(share, round(100 * share, 3), round(error * (1 - share), 4), round(2 * share, 2), (3, 40))
        for share in SHARES
    )
    return Run(problem, method, seed, moments, ((1.5, 2.0), (1.0, 3.25)) if seed == 0 else ())


def results(folder: Path, *, mark: str = "a", code: str = "x", allowance: Allowance | None = None) -> ResultsFolder:
    return ResultsFolder(
        folder, allowance or Allowance(), problems={"p": mark, "q": "b"}, methods={"m": code, "other": "y"}
    )


def test_runs_are_read_as_they_were_written(tmp_path: Path) -> None:
    runs = [made(seed=1), made(), made('a problem, with "quotes"\nand lines', "ehvi/cost")]
    write_runs(tmp_path / "r.csv", tmp_path / "f.csv", runs)
    assert sorted(read_runs(tmp_path / "r.csv", tmp_path / "f.csv"), key=lambda run: run.key) == sorted(
        runs, key=lambda run: run.key
    )


def test_the_order_of_runs_does_not_change_the_file(tmp_path: Path) -> None:
    runs = [made(seed=seed, method=method) for seed in (0, 1) for method in ("m", "k")]
    write_runs(tmp_path / "one.csv", tmp_path / "f.csv", runs)
    write_runs(tmp_path / "other.csv", tmp_path / "f.csv", runs[::-1])
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()


@pytest.mark.parametrize("cut", [1, 30, 400, 600])
def test_a_run_that_was_torn_by_a_kill_is_left_out(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "r.csv"
    write_runs(path, tmp_path / "f.csv", [made(seed=0), made(seed=1)])
    path.write_bytes(path.read_bytes()[:-cut])
    assert [run.seed for run in read_runs(path)] == [0]


def test_a_file_that_is_no_comparison_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidValueError, match="a,b"):
        read_runs(tmp_path / "r.csv")


def test_a_broken_row_is_named(tmp_path: Path) -> None:
    write_runs(tmp_path / "r.csv", tmp_path / "f.csv", [made()])
    text = (tmp_path / "r.csv").read_text().replace("p,m,0,0.5,", "p,m,zero,0.5,")
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(InvalidValueError, match="Line 12 of"):
        read_runs(tmp_path / "r.csv")


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
        file.write("q,m,0,1,2,,,,\n")
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


def test_a_folder_keeps_to_its_terms(tmp_path: Path) -> None:
    results(tmp_path).add(made())
    with pytest.raises(InvalidValueError, match=r"holds a comparison with budget 20.0; 30.0 given"):
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
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("flexibo.compare.results_folder.os.fsync", full)
    with pytest.raises(InvalidValueError, match=r"cannot be written to .*: No space left on device"):
        one.add(made(seed=1))
    monkeypatch.undo()
    assert ("p", "m", 0) in results(tmp_path).runs


@pytest.mark.parametrize("error", ["nan", "-5", "1.5", "inf"])
def test_an_error_that_cannot_be_is_refused(tmp_path: Path, error: str) -> None:
    write_runs(tmp_path / "r.csv", tmp_path / "f.csv", [made()])
    text = (tmp_path / "r.csv").read_text().replace("p,m,0,0,0,0.5,", f"p,m,0,0,0,{error},")
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(InvalidValueError, match="Line 2 of"):
        read_runs(tmp_path / "r.csv")


def test_files_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    write_runs(tmp_path / "r.csv", tmp_path / "f.csv", [made()])
    (tmp_path / "f.csv").write_text((tmp_path / "f.csv").read_text().replace("p,m,0,", "p,m,x,"))
    with pytest.raises(InvalidValueError, match=r"Line 2 of .*f\.csv"):
        read_runs(tmp_path / "r.csv", tmp_path / "f.csv")
    (tmp_path / "r.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidValueError, match="cannot be read"):
        read_runs(tmp_path / "r.csv")


def test_two_comparisons_do_not_share_a_folder(tmp_path: Path) -> None:
    with (
        locked(tmp_path / "results"),
        pytest.raises(InvalidValueError, match="Another comparison is writing"),
        locked(tmp_path / "results"),
    ):
        pass
    with locked(tmp_path / "results"):
        pass


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidValueError, match="cannot be written"), locked(tmp_path / "file" / "results"):
        pass


def test_stored_results_serve_the_same_terms_and_problems_alone(tmp_path: Path) -> None:
    how = StoredResults("m", "m 1.0", "flexibo compare", "a machine", Allowance(), {"p": "a"})
    store([made(), made(seed=1), made(method="other")], how, tmp_path)
    assert describe("m", tmp_path) == how
    tasks = [("p", "m", 0), ("p", "m", 5), ("p", "other", 0)]
    assert stored_runs(tasks, Allowance(), {"p": "a"}, tmp_path) == [made()]
    assert stored_runs(tasks, Allowance(), {"p": "changed"}, tmp_path) == []
    assert stored_runs([*tasks, ("new", "m", 0)], Allowance(), {"p": "a"}, tmp_path) == [made()]
    assert stored_runs(tasks, Allowance(budget=21.0), {"p": "a"}, tmp_path) == []
    assert json.loads((tmp_path / "m.json").read_text())["command"] == "flexibo compare"


def test_further_results_come_to_the_stored_ones_and_replace_those_of_a_changed_problem(tmp_path: Path) -> None:
    first = StoredResults("m", "m 1.0", "one", "a machine", Allowance(), {"p": "a", "q": "b"})
    add([made(), made(seed=1), made("q")], first, tmp_path)
    assert describe("m", tmp_path) == first
    then = StoredResults("m", "m 1.0", "two", "two machines", Allowance(), {"q": "changed", "r": "c"})
    add([made("q", seed=1), made("r")], then, tmp_path)
    tasks = [(problem, "m", seed) for problem in "pqr" for seed in range(2)]
    everything = {"p": "a", "q": "changed", "r": "c"}
    assert describe("m", tmp_path) == StoredResults("m", "m 1.0", "two", "two machines", Allowance(), everything)
    found = stored_runs(tasks, Allowance(), everything, tmp_path)
    assert [run.key for run in found] == [("p", "m", 0), ("p", "m", 1), ("q", "m", 1), ("r", "m", 0)]
    with pytest.raises(InvalidValueError, match="allowance"):
        add([], StoredResults("m", "m 1.0", "", "", Allowance(budget=3.0), {}), tmp_path)


def test_stored_results_of_another_version_are_of_no_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = RivalEntry("m", "", ("numpy", "pytest"), (), lambda setting: None, "")  # type: ignore[arg-type,return-value]
    monkeypatch.setattr(stored, "RIVALS", {"m": entry})
    for versions, n in ((f"{entry.versions().split(', ')[0]}, pytest 0.1", 1), ("numpy 0.1, pytest 0.1", 0)):
        store([made()], StoredResults("m", versions, "", "", Allowance(), {"p": "a"}), tmp_path)
        assert len(stored_runs([("p", "m", 0)], Allowance(), {"p": "a"}, tmp_path)) == n
