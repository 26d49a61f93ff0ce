"""``flexibo note``."""

from __future__ import annotations

import json

from tests.command_line import HOSTILE, begun, good, history, mentions, refusal

from flexibo import Space, Study
from flexibo.history.events import LONGEST_TEXT, Noted
from flexibo.surrogates import GaussianProcess


def notes() -> list[str]:
    return [event.text for event in history().events if isinstance(event, Noted)]


def test_a_note_is_stored_with_the_only_study_and_shown_by_status() -> None:
    begun().close()
    assert mentions(good("note", "the fan was replaced"), "'net'")
    assert notes() == ["the fan was replaced"]
    assert mentions(good("status", "--no-front"), "Notes", "the fan was replaced")
    (found,) = json.loads(good("status", "--no-front", "--json"))["notes"]
    assert found["text"] == "the fan was replaced"
    assert found["time"]


def test_a_study_can_be_named_by_its_file_its_url_and_its_name() -> None:
    begun().close()
    begun(name="other").close()
    good("note", "study.db", "first", "--name", "net")
    good("note", "sqlite:///study.db", "second", "--name", "other")
    for name, text in (("net", "first"), ("other", "second")):
        (found,) = json.loads(good("status", "--no-front", "--json", "--name", name))["notes"]
        assert found["text"] == text
    assert mentions(refusal("note", "third"), "'net'", "'other'")
    assert mentions(refusal("note", "third", "--name", "nett"), "'nett'", "'net'")


def test_hostile_notes_are_stored_as_they_are_and_shown_without_control_characters() -> None:
    begun().close()
    good("note", HOSTILE)
    assert notes() == [HOSTILE]
    assert "\x1b" not in good("status", "--no-front")


def test_a_long_note_is_cut_and_says_so() -> None:
    begun().close()
    assert mentions(good("note", "x" * (LONGEST_TEXT + 1)), f"{LONGEST_TEXT:,}")
    assert [len(note) for note in notes()] == [LONGEST_TEXT]
    assert len(json.loads(good("note", "y" * 9_000, "--json"))["note"]) == LONGEST_TEXT


def test_a_text_without_quotes_and_an_empty_one_are_refused_and_nothing_is_stored() -> None:
    begun().close()
    assert mentions(refusal("note", "fan", "replaced"), "'fan'", "quotes")
    assert mentions(refusal("note", "the", "fan", "was", "replaced"), "4", "quotes")
    assert mentions(refusal("note", "  "), "empty")
    assert notes() == []


def test_the_status_shows_the_last_notes_first_and_counts_the_others() -> None:
    with begun() as study:
        for number in range(8):
            study.note(f"note-{number}")
    shown = good("status", "--no-front").partition("Notes")[2]
    assert shown.index("note-7") < shown.index("note-3")
    assert "note-2" not in shown
    assert mentions(shown, "3 before")


def test_a_study_whose_functions_are_not_stored_takes_notes_too() -> None:
    space = Space({"x": (0.0, 1.0)}, valid=lambda design: design["x"] < 0.9)
    with Study(space, ["error", "energy"], name="net", storage="sqlite:///study.db", surrogate=GaussianProcess()):
        pass
    good("note", "measured at night")
    (found,) = json.loads(good("status", "--no-front", "--json"))["notes"]
    assert found["text"] == "measured at night"
