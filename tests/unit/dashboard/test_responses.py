"""The content of responses: strict JSON, compressed where that helps, and the files of the page."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from flexibo.dashboard.responses import SMALL, Body, json_bytes, page, page_files
from flexibo.web import SCRIPTS, STYLES

VENDORED = {"tabulator.min.js", "tabulator.min.css"}


def test_the_page_and_its_files_hold_no_inline_script_or_style_and_ask_for_nothing_outside() -> None:
    text = page().body.plain.decode()
    assert "<style" not in text
    assert " style=" not in text
    assert "<script>" not in text
    assert "onclick" not in text
    own = set(page_files()) - {*SCRIPTS, *STYLES}
    for name in own - VENDORED:
        content = page_files()[name].body.plain.decode()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert word not in content, (name, word)
        outside = content.replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in outside
        assert "https:" not in outside
    named = {part.partition('"')[0] for part in text.split("/static/")[1:]}
    assert named <= set(page_files())
    assert own == {path.name for path in (Path(page.__wrapped__.__code__.co_filename).parent / "static").iterdir()} - {
        "index.html",
        "tabulator.LICENSE",
    }


def test_json_is_strict_whatever_a_study_holds() -> None:
    odd = {
        "a": float("nan"),
        "b": [float("inf"), {"c": -float("inf")}],
        1: object,
        "d": "\ud800",
        "e": True,
        "f": 10**400,
    }
    said = json.loads(json_bytes(odd), parse_constant=pytest.fail)
    assert (said["a"], said["b"], said["d"], said["e"]) == (None, [None, {"c": None}], "\ud800", True)
    assert Body.of({}).packed is None


@pytest.mark.parametrize("accepted", ["gzip", "deflate, GZIP;q=0.5", "br,gzip"])
def test_a_body_is_compressed_for_who_accepts_it(accepted: str) -> None:
    body = Body.of_bytes(b"x" * SMALL)
    content, headers = body.for_request(accepted)
    assert headers == {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    assert gzip.decompress(content) == b"x" * SMALL


@pytest.mark.parametrize("accepted", ["", "identity", "deflate, br", "xgzip"])
def test_a_body_is_plain_for_everybody_else(accepted: str) -> None:
    assert Body.of_bytes(b"x" * SMALL).for_request(accepted) == (b"x" * SMALL, {"Vary": "Accept-Encoding"})


def test_a_body_that_compressing_does_not_shorten_stays_as_it_is() -> None:
    random = os.urandom(SMALL)
    for plain in (b"x" * (SMALL - 1), random):
        assert Body.of_bytes(plain).for_request("gzip")[0] == plain


def test_the_same_content_gives_the_same_bytes_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    content = {"rows": list(range(1000))}
    before = Body.of(content)
    assert before.packed is not None
    monkeypatch.setattr("time.time", lambda: 1e9)
    assert Body.of(content) == before


def test_a_file_of_the_page_has_its_type_and_a_tag_of_its_content() -> None:
    files = page_files()
    assert files["app.js"].type.startswith("text/javascript")
    assert files["charts.css"].type.startswith("text/css")
    tags = [file.tag for file in files.values()]
    assert len(set(tags)) == len(tags)
    assert all(tag.startswith('"') and tag.endswith('"') for tag in tags)
