"""Names of studies that are quotes, paths, wildcards, options or markup, from Python and on the command line."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from tests.command_line import good
from tests.unit.study.small_studies import answered, asked, opened

from flexibo import Study
from flexibo.errors import InvalidTypeError, InvalidValueError

ALLOWED = ['it\'s "q"; DROP TABLE flexibo_events;--', "../../etc/passwd", "%", "_", "a%b_c", "x" * 200, "--help", "<"]
REFUSED = ["", "  ", "a\nb", "\ud800", "NUL\0", "red\x1b[31m", "a\u202eb", "x" * 201]


def test_a_study_of_any_printable_name_is_found_by_it_and_no_other_one_is(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    for count, name in enumerate(ALLOWED, start=1):
        with closing(opened(url, method="random", name=name)) as study:
            for _ in range(count):
                answered(study, asked(study))
    for count, name in enumerate(ALLOWED, start=1):
        with closing(Study.load(url, name)) as study:
            assert (study.name, len(study.history.measurements)) == (name, count)
        assert json.loads(good("status", "--json", "--storage", url, "--name", name))["name"] == name
        out = tmp_path / f"{count}.jsonl"
        good("export", "--storage", url, "--name", name, "--out", str(out))
        good("import", str(out), "--storage", f"sqlite:///{tmp_path}/again-{count}.db")
        with closing(Study.load(f"sqlite:///{tmp_path}/again-{count}.db")) as study:
            assert study.name == name
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"study.db"} | {f"{n}.jsonl" for n in range(1, 9)} | {f"again-{n}.db" for n in range(1, 9)}


@pytest.mark.parametrize("name", REFUSED)
def test_other_names_are_refused_and_nothing_is_made(tmp_path: Path, name: str) -> None:
    with pytest.raises((InvalidValueError, InvalidTypeError)):
        opened(f"sqlite:///{tmp_path}/study.db", name=name)
    assert not list(tmp_path.iterdir())
