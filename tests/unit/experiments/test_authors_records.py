from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from tests.unit.experiments.made_records import MADE, members, write_records

from flexibo.errors import InvalidValueError
from flexibo.experiments import authors_records
from flexibo.experiments.authors_records import METHODS, SYSTEMS, read_records


def test_every_repetition_of_every_method_is_read(tmp_path: Path) -> None:
    repeats = read_records(write_records(tmp_path))
    assert len(repeats) == len(SYSTEMS) * len(METHODS) * 5
    assert {repeat.problem for repeat in repeats} == set(SYSTEMS)
    ours = next(repeat for repeat in repeats if repeat.method == "flexibo-gp-log")
    assert [iteration.objectives for iteration in ours.iterations] == [(), ("error",), ("energy",), ("error",)]
    assert [iteration.spent for iteration in ours.iterations] == pytest.approx([0.0, 8.0, 8.0, 16.0])
    assert [iteration.error for iteration in ours.iterations] == [1.0, *MADE["FlexiBO+GP-Log"]]
    assert (ours.expensive, ours.cheap) == ("error", "energy")


def test_an_iteration_of_a_coupled_method_measures_both_objectives(tmp_path: Path) -> None:
    pal = next(repeat for repeat in read_records(write_records(tmp_path)) if repeat.method == "pal")
    assert [iteration.objectives for iteration in pal.iterations[1:]] == [("error", "energy")] * 3
    assert [iteration.costs for iteration in pal.iterations[1:]] == [(8.0, 0.0)] * 3


def test_the_front_is_what_no_other_iteration_beats(tmp_path: Path) -> None:
    repeat = read_records(write_records(tmp_path))[0]
    assert set(repeat.front) == {(0.2, 0.5), (0.4, 0.3)}


def test_a_design_in_the_target_region_has_a_low_error_and_a_low_energy(tmp_path: Path) -> None:
    points = [(0.2, 0.9), (0.24, 0.08), (0.3, 0.1), (0.1, 0.4), (0.2, 0.3)]
    repeat = read_records(write_records(tmp_path, points=points, errors=dict.fromkeys(MADE, (0.5,) * 5)))[0]
    # The first quartile of the energies is 0.1; the third design has an error above 25 % besides.
    assert [iteration.in_target for iteration in repeat.iterations] == [0, 0, 1, 1, 1, 1]


def test_a_missing_file_says_where_it_can_be_had(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="softsys4ai/FlexiBO"):
        read_records(tmp_path)


def test_a_missing_member_is_named(tmp_path: Path) -> None:
    name = "data/IMDB/BERT-IMDB3_hypervolume.csv"
    with pytest.raises(InvalidValueError, match="BERT-IMDB3_hypervolume"):
        read_records(write_records(tmp_path, leave_out=name))


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    folder = write_records(tmp_path)
    (folder / "recorded" / authors_records.FILE).write_bytes(b"no archive")
    with pytest.raises(InvalidValueError, match=authors_records.FILE):
        read_records(folder)


def test_a_member_that_unpacks_to_too_much_is_refused_whatever_its_header_says(tmp_path: Path) -> None:
    name, *_ = members()
    bomb = "Method,Error,Energy,Cost,Volume\n" + "0" * 50_000_000
    folder = write_records(tmp_path, replace={name: bomb})
    path = folder / "recorded" / authors_records.FILE
    assert path.stat().st_size < 1_000_000
    with pytest.raises(InvalidValueError, match="2,000,000"):
        read_records(folder)


@pytest.mark.parametrize(
    "content",
    [
        "Method,Error,Energy\nPAL,0.1,0.2\n",
        "Method,Error,Energy,Cost,Volume\nPAL,a,0.2,1,0.5\n",
        "Method,Error,Energy,Cost,Volume\nPAL,nan,0.2,1,0.5\n",
        "Method,Error,Energy,Cost,Volume\nPAL,0.1,0.2,-1,0.5\n",
        "Method,Error,Energy,Cost,Volume\nPAL,0.1\n",
        b"\xff\xfe\x00",
    ],
)
def test_a_member_that_is_no_table_of_records_is_named(content: str | bytes, tmp_path: Path) -> None:
    name, *_ = members()
    with pytest.raises(InvalidValueError, match=name.rpartition("/")[2]):
        read_records(write_records(tmp_path, replace={name: content}))


def test_records_without_a_method_are_refused(tmp_path: Path) -> None:
    folder = write_records(tmp_path, without="SMSEGO")
    with pytest.raises(InvalidValueError, match="smsego"):
        read_records(folder)


def test_a_damaged_member_is_refused(tmp_path: Path) -> None:
    folder = write_records(tmp_path)
    path = folder / "recorded" / authors_records.FILE
    with zipfile.ZipFile(path) as archive:
        place = archive.infolist()[0].header_offset + 60
    content = bytearray(path.read_bytes())
    content[place : place + 20] = b"\xff" * 20
    path.write_bytes(content)
    with pytest.raises(InvalidValueError):
        read_records(folder)
