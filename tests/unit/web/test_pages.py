"""Pages in one file: what is in them, which scripts may run in them, and how they are written."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.unit.web.html_elements import Elements, policy

from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.web import CHARTS, page, write_page

HARM = "</script ><script>alert(1)</script/><!--<script>"
VIEW: dict[str, Any] = {"kind": "choices", "cost_label": "cost [s]", "choices": []}


def test_only_the_scripts_and_styles_of_the_page_may_run_and_nothing_is_fetched() -> None:
    elements = Elements(page("A study", [("choices", VIEW)]))
    rules = policy(elements)
    assert rules["default-src"] == "'none'"
    data, *scripts = elements.texts["script"]
    assert json.loads(data) == [VIEW]
    for rule, texts in (("script-src", scripts), ("style-src", elements.texts["style"])):
        hashes = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts]
        assert rules[rule] == " ".join(hashes)
    assert not any(attributes.get(name) for _, attributes in elements.found for name in ("src", "href", "style"))
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]


def test_names_from_outside_end_no_element_and_begin_none() -> None:
    plain = Elements(page("A study", [("choices", VIEW)]))
    hostile = {**VIEW, "cost_label": HARM, HARM: [HARM, "\u2028", "\ud800", "&lt;"]}
    text = page(HARM, [("choices", hostile)])
    assert not set(text.partition('id="data">')[2].partition("]</script>")[0]) & set("<>&")
    elements = Elements(text)
    assert [tag for tag, _ in elements.found] == [tag for tag, _ in plain.found]
    assert json.loads(elements.texts["script"][0]) == [hostile]
    assert elements.texts["title"] == elements.texts["h1"] == [HARM]


def test_a_view_that_several_pictures_show_stands_there_once() -> None:
    trace = {"kind": "trace", "rows": {}}
    elements = Elements(page("A study", [("hypervolume", trace), ("choices", VIEW), ("spend", dict(trace))]))
    assert json.loads(elements.texts["script"][0]) == [trace, VIEW]
    drawn = [(div["data-picture"], div["data-view"]) for div in elements.attributes("div")]
    assert drawn == [("hypervolume", "0"), ("choices", "1"), ("spend", "0")]
    assert elements.texts["h2"] == [CHARTS[name].title for name in ("hypervolume", "choices", "spend")]


@pytest.mark.parametrize(
    ("charts", "error", "facts"),
    [
        ([], InvalidValueError, ["empty"]),
        ([("frnt", VIEW)], UnknownNameError, ["'frnt'", "'front'"]),
        ([("", VIEW)], UnknownNameError, ["''"]),
        ([("front", VIEW)], InvalidValueError, ["'front'", "'choices'"]),
        ([("choices", {**VIEW, "x": float("nan")})], InvalidValueError, ["'choices'", "JSON"]),
        ([("choices", {**VIEW, "x": {1, 2}})], InvalidValueError, ["'choices'", "JSON"]),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(charts: Any, error: type[Exception], facts: list[str]) -> None:
    with pytest.raises(error) as refused:
        page("A study", charts)
    assert all(fact in str(refused.value) for fact in facts)
    assert "\n" not in str(refused.value)


def test_a_page_replaces_the_one_before_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "study.html"
    path.write_text("old")
    write_page(path, "A study", [("choices", VIEW)])
    assert path.read_text(encoding="utf-8") == page("A study", [("choices", VIEW)])
    assert list(tmp_path.iterdir()) == [path]


def test_a_page_that_cannot_be_made_or_written_leaves_the_old_one_alone(tmp_path: Path) -> None:
    path = tmp_path / "study.html"
    path.write_text("old")
    with pytest.raises(InvalidValueError):
        write_page(path, "A study", [])
    assert path.read_text() == "old"
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "folder", tmp_path / "none" / "study.html"):
        with pytest.raises(InvalidValueError, match=re.escape(f"{place} cannot be written: ")):
            write_page(place, "A study", [("choices", VIEW)])
    assert sorted(tmp_path.iterdir()) == [tmp_path / "folder", path]
