"""The trackers of a study file."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexibo.studyfile import StudyFileError, read_study_file
from flexibo.studyfile._trackers import TrackerChoice

STUDY = """
options: {x: {from: 0.0, to: 1.0}}
objectives:
  a: {command: "echo {x}"}
  b: {command: "echo {x}"}
stop: {max_evaluations: 3}
"""


def written(folder: Path, trackers: str) -> Path:
    path = folder / "study.yaml"
    path.write_text(f"{STUDY}\ntrackers: {trackers}\n")
    return path


def test_paths_are_beside_the_file(tmp_path: Path) -> None:
    text = "{mlflow: {uri: sqlite:///m.db, experiment: nets}, wandb: {mode: offline}, tensorboard: }"
    found = read_study_file(written(tmp_path, text)).trackers
    assert found == (
        TrackerChoice("mlflow", {"uri": f"sqlite:///{tmp_path / 'm.db'}", "experiment": "nets"}),
        TrackerChoice("wandb", {"mode": "offline", "folder": str(tmp_path)}),
        TrackerChoice("tensorboard", {"folder": str(tmp_path / "runs")}),
    )


@pytest.mark.parametrize("uri", ["http://host:5000", "sqlite:////data/m.db"])
def test_other_places_stay_as_they_are(tmp_path: Path, uri: str) -> None:
    [found] = read_study_file(written(tmp_path, f"{{mlflow: {{uri: '{uri}'}}}}")).trackers
    assert found.arguments["uri"] == uri


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{mlflo: {}}", "'mlflo'.*'mlflow'"),
        ("{mlflow: {url: a}}", "'url'"),
        ("{mlflow: {uri: 5}}", "uri of tracker 'mlflow' is 5"),
        ("{mlflow: 5}", "mlflow.*uri, experiment"),
        ("mlflow", "trackers is 'mlflow'"),
        ("[mlflow]", "trackers is a list"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(StudyFileError, match=rf"study\.yaml:8:\d+.*{said}"):
        read_study_file(written(tmp_path, text))


def test_a_study_of_the_file_is_tracked(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    file = read_study_file(written(tmp_path, "{tensorboard: {folder: tb}}"))
    with file.study() as study:
        study.run(file.measures, progress=False)
    with file.joined(file.storage, file.name) as again:
        again.refresh()
    assert len(list((tmp_path / "tb").glob("*/evaluations/*"))) == 3
