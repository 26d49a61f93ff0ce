"""Which files a study is resumed from without --file: those that no other user can have written."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flexibo.studyfile._yaml_nodes import nodes_of
from flexibo.studyfile.file import read_file_text
from flexibo.studyfile.file_origin import doubtful, doubtful_beside, stored_file
from flexibo.studyfile.mistakes import Mistakes, StudyFileError

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
STUDY = """
options: {x: [1, 2, 3]}
objectives:
  a: {function: 'board.power:joules'}
  b: {command: 'sh measure.sh {x}; ./other --y=3'}
n_initial: 2
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the user's own with a study file, a package and two programs."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    inner = tmp_path.resolve() / "studies" / "mine"
    (inner / "board").mkdir(parents=True)
    (inner / "study.yaml").write_text(STUDY)
    (inner / "board" / "__init__.py").write_text("")
    (inner / "board" / "power.py").write_text("def joules(design):\n    return 1.0\n")
    (inner / "measure.sh").write_text("echo 1\n")
    (inner / "other").write_text("#!/bin/sh\n")
    for path in [inner, inner.parent, *inner.rglob("*")]:
        os.chmod(path, 0o755 if path.is_dir() else 0o644)
    yield inner
    for name in ("board", "board.power"):
        sys.modules.pop(name, None)


def opened(path: Path) -> None:
    stored_file({"study_file": str(path), "sha256": read_file_text(path).digest}, "s")


def test_a_file_of_the_users_own_is_used(folder: Path) -> None:
    assert doubtful(folder / "study.yaml") is None
    opened(folder / "study.yaml")


@pytest.mark.parametrize(
    "name", ["study.yaml", ".", "..", "board", "board/power.py", "board/__init__.py", "measure.sh"]
)
@pytest.mark.parametrize("mode", [0o757, 0o777])
def test_what_others_may_write_on_the_path_or_beside_it_is_named_and_refused(
    folder: Path, name: str, mode: int
) -> None:
    path = (folder / name).resolve()
    os.chmod(path, mode)
    with pytest.raises(StudyFileError) as caught:
        opened(folder / "study.yaml")
    assert str(caught.value).startswith(f"{path} ")
    assert f"--file {folder / 'study.yaml'}" in str(caught.value)


def test_a_group_counts_unless_the_user_is_alone_in_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chmod(folder, 0o775)
    monkeypatch.setattr("flexibo.studyfile.file_origin._is_private", lambda gid, uid: True)
    assert doubtful(folder / "study.yaml") is None
    monkeypatch.setattr("flexibo.studyfile.file_origin._is_private", lambda gid, uid: False)
    assert doubtful(folder / "study.yaml") == folder


def test_a_sticky_folder_may_stand_above_but_not_hold_the_file(folder: Path) -> None:
    os.chmod(folder.parent, 0o1777)
    assert doubtful(folder / "study.yaml") is None
    os.chmod(folder.parent, 0o755)
    os.chmod(folder, 0o1777)
    assert doubtful(folder / "study.yaml") == folder


def test_what_belongs_to_another_user_is_refused(folder: Path) -> None:
    stranger = os.geteuid() + 12345
    found = doubtful(folder / "study.yaml", uid=stranger)
    assert found == (None if os.geteuid() == 0 else folder / "study.yaml")  # all may trust what is root's


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("name", ["study.yaml", ".", "..", "board/power.py", "measure.sh"])
def test_what_was_given_to_another_user_is_refused(folder: Path, name: str) -> None:
    path = (folder / name).resolve()
    os.chown(path, 12345, 12345)
    with pytest.raises(StudyFileError, match=rf"^{re.escape(str(path))} .*another user.*--file"):
        opened(folder / "study.yaml")


def test_a_link_is_followed_before_it_is_judged(folder: Path, tmp_path: Path) -> None:
    public = tmp_path / "public"
    public.mkdir()
    os.chmod(public, 0o777)
    (public / "study.yaml").symlink_to(folder / "study.yaml")
    opened(public / "study.yaml")  # it runs in the folder of the file itself
    (public / "real.yaml").write_text(STUDY)
    (folder / "linked.yaml").symlink_to(public / "real.yaml")
    with pytest.raises(StudyFileError, match=rf"^{re.escape(str(public))}[/ ].*--file"):
        opened(folder / "linked.yaml")


def test_a_module_that_is_a_link_into_a_public_folder_is_refused_before_it_is_imported(
    folder: Path, tmp_path: Path
) -> None:
    public = tmp_path / "public"
    public.mkdir()
    (public / "evil.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\ndef f(design):\n    return 1.0\n")
    os.chmod(public, 0o777)
    (folder / "linked_module.py").symlink_to(public / "evil.py")
    (folder / "study.yaml").write_text(STUDY.replace("board.power:joules", "linked_module:f"))
    with pytest.raises(StudyFileError, match=rf"^{re.escape(str(public))}[/ ].*--file"):
        opened(folder / "study.yaml")
    assert not (tmp_path / "imported").exists()


def test_what_python_compiled_counts_as_the_module(folder: Path) -> None:
    (folder / "board" / "__pycache__").mkdir()
    (folder / "board" / "__pycache__" / "power.cpython-311.pyc").write_bytes(b"")
    root = nodes_of(STUDY, Mistakes("study.yaml"))
    os.chmod(folder / "board" / "__pycache__", 0o755)
    os.chmod(folder / "board" / "__pycache__" / "power.cpython-311.pyc", 0o644)
    assert doubtful_beside(root, folder) is None
    os.chmod(folder / "board" / "__pycache__" / "power.cpython-311.pyc", 0o646)
    assert doubtful_beside(root, folder) == folder / "board" / "__pycache__" / "power.cpython-311.pyc"


def test_the_advice_can_be_typed_whatever_the_path_holds(folder: Path) -> None:
    odd = folder / "a;touch pwned"
    odd.mkdir()
    (odd / "study.yaml").write_text(STUDY)
    os.chmod(odd / "study.yaml", 0o646)
    with pytest.raises(StudyFileError) as caught:
        opened(odd / "study.yaml")
    assert f"--file '{odd / 'study.yaml'}'" in str(caught.value)
