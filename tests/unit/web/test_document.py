"""Documents in one file: which scripts may run in them, and how they are written."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest
from tests.unit.web.html_elements import Elements, policy

from flexibo.errors import InvalidValueError
from flexibo.web.document import document, embedded_json, write_document

HARM = "</script ><script>alert(1)</script/><!--<script>"


def small(title: str = "A study", data: object = None) -> str:
    return document(
        title, "<p>body</p>", data=embedded_json(data), styles=["p { color: red }"], scripts=["first()", "second()"]
    )


def test_the_policy_comes_before_anything_it_is_about() -> None:
    text = small()
    assert text.index("Content-Security-Policy") < min(
        text.index("<style"), text.index("<script"), text.index("<title")
    )


def test_a_title_cannot_break_lines_or_the_encoding() -> None:
    text = small("a\nb\ud800")
    assert "<title>a\\nb\\ud800</title>" in text
    assert text.encode()


def test_scripts_run_in_their_order_and_no_others_may() -> None:
    elements = Elements(small(data=[1]))
    data, *scripts = elements.texts["script"]
    assert (json.loads(data), scripts) == ([1], ["first()", "second()"])
    rules = policy(elements)
    hashes = [f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts]
    assert rules["script-src"].split() == hashes
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in str(rules)


@pytest.mark.parametrize("name", [HARM, "&lt;", "\u2028", "\ud800", "]]>"])
def test_embedded_json_ends_no_element_and_is_read_as_it_was(name: str) -> None:
    text = embedded_json({name: [name]})
    assert not set(text) & set("<>&")
    assert json.loads(text) == {name: [name]}
    assert json.loads(Elements(small(data=name)).texts["script"][0]) == name


@pytest.mark.parametrize(("value", "error"), [(float("nan"), ValueError), ({1, 2}, TypeError)])
def test_what_json_cannot_express_is_refused(value: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        embedded_json([value])


def test_a_document_replaces_the_one_before_or_leaves_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "study.html"
    path.write_text("old")
    write_document(path, "neu: \u00fc")
    assert path.read_bytes() == "neu: \u00fc".encode()
    for place in (tmp_path, tmp_path / "none" / "study.html"):
        with pytest.raises(InvalidValueError, match=re.escape(str(place))):
            write_document(place, "newer")
    assert list(tmp_path.iterdir()) == [path]
