"""JSON from anywhere is a value that can be used, or a ValueError."""

from __future__ import annotations

import json

import pytest

from flexibo._internal.untrusted_json import MOST_LEVELS, untrusted_json


@pytest.mark.parametrize(
    "value", [None, True, 3, -2.5, "a", [], {}, {"a": [1, {"b": "\u2028"}]}, 10**200, "\N{GRINNING FACE}"]
)
def test_what_json_wrote_is_read_again(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value).encode(), json.dumps(value, ensure_ascii=False).encode()):
        found = untrusted_json(text)
        assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ('{"a": NaN}', "NaN"),
        ("[-Infinity]", "-Infinity"),
        ("1e999", "1e999"),
        ("[" + "9" * 301 + "]", "301 digits"),
        ("9" * 10_000, "10000 digits"),
        ("[" * 100_000, "nested"),
        ('{"a":' * 100_000, "nested"),
        ("[" * (MOST_LEVELS + 1) + "]" * (MOST_LEVELS + 1), "nested"),
        ('["\\ud800"]', "surrogates"),
        ('{"\\udfff": 1}', "surrogates"),
        (b'["\xff"]', "decode"),
    ],
)
def test_what_could_not_be_used_is_refused(text: str | bytes, facts: str) -> None:
    with pytest.raises(ValueError, match=facts) as caught:
        untrusted_json(text)
    assert not isinstance(caught.value, json.JSONDecodeError)


def test_nesting_is_allowed_up_to_a_limit() -> None:
    assert untrusted_json("[" * MOST_LEVELS + "]" * MOST_LEVELS)


@pytest.mark.parametrize("text", ["", "{", '{"a": 1', '{"a": 1}{', "nothing"])
def test_what_is_no_json_or_was_cut_short_has_an_error_of_its_own(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        untrusted_json(text)
