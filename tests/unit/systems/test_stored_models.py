"""Stored models are listed and fetched without torch, from folders and other hosts; nothing damaged is kept."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from flexibo.errors import InvalidValueError, MachineError
from flexibo.systems.stored_models import Folder, RemoteFolder, fetch_model, is_network_of, models_of, place_of

STUDY: dict[str, Any] = {"network": "lenet", "training": "beef", "seed": 3}


def put_model(folder: Path, number: int = 1, *, weights: bytes = b"weights", **changes: Any) -> str:
    """Write an entry as the store does; returns its name."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"lenet-{number:032x}"
    entry = {
        "name": name, "network": "lenet", "design": {"filters_1": 16 * number}, "fingerprint": "beef", "seed": 3,
        "error_percent": 10.0 - number, "seconds": 4.5, "epochs": 2, "losses": [1.0, 0.5], "machines": ["board, cpu"],
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
    } | changes  # fmt: skip
    (folder / f"{name}.pt").write_bytes(weights)
    (folder / f"{name}.json").write_text(json.dumps({key: value for key, value in entry.items() if value is not None}))
    return name


def test_the_models_of_a_study_are_those_with_its_data_settings_and_seed(tmp_path: Path) -> None:
    names = [put_model(tmp_path, number) for number in (1, 2)]
    put_model(tmp_path, 3, fingerprint="other data")
    put_model(tmp_path, 4, seed=0)
    put_model(tmp_path, 5, failed="out of luck")
    found = models_of(Folder(tmp_path), **STUDY)
    assert [one.name for one in found] == names[::-1]  # the smaller error first
    assert is_network_of(found[0], {"filters_1": 32, "precision": "bf16"})
    assert not is_network_of(found[0], {"filters_1": 16, "precision": "bf16"})


STRANGE = "lenet-" + "0" * 32


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"error_percent": "nan"}, "numbers"),
        ({"error_percent": -1.0}, "numbers"),
        ({"error_percent": float("inf")}, "Infinity"),
        ({"error_percent": 10**400}, "401 digits"),
        ({"error_percent": [1]}, "wrong type"),
        ({"error_percent": None}, "'error_percent'"),
        ({"epochs": 10**400}, "401 digits"),
        ({"epochs": "inf"}, "numbers"),
        ({"epochs": "many"}, "many"),
        ({"seconds": -1}, "numbers"),
        ({"name": "another"}, "own name"),
        ({"network": None}, "'network'"),
        ({"design": 3}, "wrong type"),
        ({"design": "\ud800"}, "surrogates"),
        ({"machines": None}, "'machines'"),
        ({"machines": 3}, "wrong type"),
        ({"more": json.loads("[" * 200 + "]" * 200)}, "nested"),
    ],
)
def test_a_damaged_entry_is_named_and_the_others_are_listed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, changes: dict[str, Any], reason: str
) -> None:
    good, bad = put_model(tmp_path, 1), put_model(tmp_path, 2, **changes)
    assert [one.name for one in models_of(Folder(tmp_path), **STUDY)] == [good]
    [warning] = caplog.messages
    assert f"{bad}.json" in warning
    assert reason in warning
    assert warning.isprintable()


@pytest.mark.parametrize("content", [b"", b"[]", b"3", b"[" * 100_000, b"\xff", b"{", b" " * 2**22 + b" {}"])
def test_an_entry_that_is_none_is_named_and_the_others_are_listed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    good = put_model(tmp_path, 1)
    (tmp_path / f"{STRANGE}.json").write_bytes(content)
    assert [one.name for one in models_of(Folder(tmp_path), **STUDY)] == [good]
    [warning] = caplog.messages
    assert f"{STRANGE}.json" in warning


def test_an_entry_that_cannot_be_read_is_named_and_a_file_of_another_name_is_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = put_model(tmp_path, 1)
    (tmp_path / f"{STRANGE}.json").mkdir()
    (tmp_path / "lenet-notes.json").write_text("mine")
    assert [one.name for one in models_of(Folder(tmp_path), **STUDY)] == [good]
    [warning] = caplog.messages
    assert f"{STRANGE}.json" in warning


def test_a_fetched_model_is_a_model_of_the_store_here(tmp_path: Path) -> None:
    name = put_model(tmp_path / "there")
    [entry] = models_of(Folder(tmp_path / "there"), **STUDY)
    target = fetch_model(Folder(tmp_path / "there"), entry, tmp_path / "here")
    assert (target.name, target.read_bytes()) == (f"{name}.pt", b"weights")
    assert models_of(Folder(tmp_path / "here"), **STUDY) == [entry]


def test_weights_that_are_not_those_of_the_entry_are_refused(tmp_path: Path) -> None:
    name = put_model(tmp_path / "there")
    [entry] = models_of(Folder(tmp_path / "there"), **STUDY)
    (tmp_path / "there" / f"{name}.pt").write_bytes(b"other weights")
    with pytest.raises(MachineError, match=rf"^The weights {name}.pt are damaged"):
        fetch_model(Folder(tmp_path / "there"), entry, tmp_path / "here")
    (tmp_path / "there" / f"{name}.pt").unlink()
    with pytest.raises(MachineError, match=r"from .*there: No such file"):
        fetch_model(Folder(tmp_path / "there"), entry, tmp_path / "here")
    assert not (tmp_path / "here").exists()


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program ssh that knows one host, this one."""
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\n[ "$3" = board ] || { echo "no route to $3" >&2; exit 255; }\nexec sh -c "$4"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return program


def test_a_model_is_fetched_from_the_worker_that_has_it(tmp_path: Path, ssh: Path) -> None:
    folder = tmp_path / "models of 'ada'"
    name = put_model(folder)
    place = place_of(f"board:{folder}")
    [entry] = models_of(place, **STUDY)
    assert fetch_model(place, entry, tmp_path / "here").read_bytes() == b"weights"
    assert (tmp_path / "here" / f"{name}.json").is_file()


def test_a_host_without_models_or_without_a_route_is_one_sentence(tmp_path: Path, ssh: Path) -> None:
    assert models_of(RemoteFolder("board", str(tmp_path / "nowhere")), **STUDY) == []
    with pytest.raises(MachineError, match=r"route to moon.$"):
        models_of(RemoteFolder("moon", "models"), **STUDY)


@pytest.mark.parametrize("text", ["-oProxyCommand=evil:models", ":models", "host:", "a b:models"])
def test_a_place_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError, match="or HOST:FOLDER"):
        place_of(text)
