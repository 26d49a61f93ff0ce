"""Study files that name a system of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flexibo.studyfile import StudyFileError, SystemFile, read_any_file, read_study_file
from flexibo.studyfile.system_file import DEFAULT_BUDGET_SECONDS


@pytest.fixture
def read_system(tmp_path: Path) -> Any:
    """Reads a text as the study file of the folder."""

    def of(text: str) -> SystemFile:
        (tmp_path / "study.yaml").write_text(text)
        found = read_any_file(tmp_path / "study.yaml")
        assert isinstance(found, SystemFile)
        return found

    return of


def test_a_file_that_names_a_system_needs_nothing_else(read_system: Any, tmp_path: Path) -> None:
    found = read_system("system: lenet\n")
    assert (found.system, found.name, found.about) == ("lenet", "lenet", {})
    assert found.storage == f"sqlite:///{tmp_path}/lenet.db"
    assert found.settings == {"budget": DEFAULT_BUDGET_SECONDS, "seed": 0}


def test_everything_about_the_system_and_the_study_is_read(read_system: Any, tmp_path: Path) -> None:
    found = read_system(
        "name: mine\nsystem: bert-imdb\nsize: small\ndataset: imdb\ndata: data\nlimit: 50\n"
        "encoder: /there\nmodels: kept\nplatform: linux-cpu\nmeter: rapl\nlongest: 2m\nknobs: [swappiness]\n"
        "allow_gpu: true\nand: [latency_ms]\nbudget: 5m\nseed: 3\nn_initial: 4\nstop: {max_evaluations: 9}\n"
        "reference: {error_percent: 60, energy_millijoules: 5}\nexecutor: {name: processes, workers: 2}\n"
    )
    assert found.about == {
        "size": "small",
        "dataset": "imdb",
        "data": tmp_path / "data",
        "limit": 50,
        "encoder": Path("/there"),
        "models": tmp_path / "kept",
        "platform": "linux-cpu",
        "meter": "rapl",
        "longest": 120.0,
        "knobs": ("swappiness",),
        "allow_gpu": True,
        "and": ("latency_ms",),
    }
    assert found.storage == f"sqlite:///{tmp_path}/mine.db"
    assert (found.settings["budget"], found.settings["seed"], found.settings["n_initial"]) == (300.0, 3, 4)
    assert found.settings["stop"] == {"max_evaluations": 9}
    assert (found.executor.name, found.executor.workers) == ("processes", 2)


def test_a_recorded_table_may_be_named_itself(read_system: Any) -> None:
    assert read_system("system: lenet-h200\nrecorded: true\n").system == "lenet-h200"
    assert read_system("system: lenet\nknobs: all\n").about == {"knobs": ("all",)}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("system: lennet", "Unknown system 'lennet'; did you mean 'lenet'?"),
        ("system: lenet\nsize: huge", "Unknown size 'huge'; known are full, small, tiny."),
        (
            "system: lenet\nrecorded: true\nlimit: 9\nsize: tiny",
            "size and limit say how to measure, and recorded: true measures nothing; leave them or recorded out.",
        ),
        (
            "system: lenet\nrecorded: true\nsize: tiny",
            "size says how to measure, and recorded: true measures nothing; leave it or recorded out.",
        ),
        ("system: lenet-h200", "'lenet-h200' is a recorded table; add recorded: true to replay it."),
        (
            "system: lenet\noptions: {a: [1, 2]}\nobjectives: {b: {command: echo 1}}",
            "options and objectives do not go with system: a system has its own options, objectives and functions; "
            "leave them out, or leave system out.",
        ),
        (
            "system: lenet\nlogs: logs",
            "logs does not go with system: a system has its own options, objectives and functions; leave it out, or "
            "leave system out.",
        ),
        ("system: lenet\ndataset: imdb", "Unknown dataset 'imdb' of lenet; known are mnist, fashion-mnist, cifar-10."),
        ("system: lenet\nencoder: there", "lenet has no encoder; leave encoder out."),
        (
            "system: bert-imdb\nencoder: there\nsize: tiny",
            "The size tiny starts from scratch, without an encoder; leave one of them out.",
        ),
        ("system: bert-imdb\naugment: true", "bert-imdb does not learn from images; leave augment out."),
        ("system: lenet\nestimate: 0", "estimate is 0; it must be a power in watts, more than zero."),
        (
            "system: lenet\nestimate: 5\nmeter: rapl",
            "estimate is for machines without a meter; leave estimate or meter out.",
        ),
        (
            "system: lenet\nknobs: {swappiness: [1]}",
            "knobs of a system is a list of names, as in [swappiness], or all: it has values of its own.",
        ),
        ("system: lenet\nknobs: [1]", "1 in knobs is not the name of a knob."),
        ("system: lenet\nand: [latency]", "Unknown objective 'latency' in and; did you mean 'latency_ms'?"),
        ("system: lenet\nsizes: tiny", "There is no key 'sizes' in a study file; did you mean 'size'?"),
    ],
)
def test_a_mistake_is_one_sentence(read_system: Any, text: str, sentence: str) -> None:
    with pytest.raises(StudyFileError) as caught:
        read_system(text)
    assert [mistake.sentence for mistake in caught.value.mistakes] == [sentence]


def test_what_one_machine_measures_is_typed_there(read_system: Any) -> None:
    with pytest.raises(StudyFileError, match=r"flexibo run .*study.yaml --only error_percent"):
        read_system("system: lenet\nonly: [error_percent]\n")


def test_a_size_without_a_system_says_what_it_is_for(mistakes: Any) -> None:
    text = "size: tiny\noptions: {a: [1, 2]}\nobjectives: {b: {command: echo 1}, c: {command: echo 1}}"
    assert mistakes(text) == [
        (1, 1, "size is for the study of a system; name one, as in system: lenet, or leave size out.")
    ]


def test_a_program_is_sent_to_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text("system: lenet\n")
    with pytest.raises(StudyFileError, match=r"flexibo run .*study.yaml"):
        read_study_file(tmp_path / "study.yaml")
