"""The log of a study loses no answer: what its storage refuses or loses is kept in a file beside it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.study.small_studies import answered, asked, opened

from flexibo import Study
from flexibo.history.events import Noted, Told
from flexibo.storage import LogReplacedError, MemoryStorage, StorageError
from flexibo.study.answers import NeverAskedError


class Forgetful(MemoryStorage):
    """Keeps answers that are not stored in a file, and can be made to lose its last events."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.unstored = folder / "unstored.jsonl"
        self.lost = 0

    def lose(self, events: int) -> None:
        self.lost = events

    def read(self, after: int = 0) -> list[dict[str, Any]]:
        if self.lost:
            raise LogReplacedError("The log was replaced.")
        return super().read(after)

    def read_anew(self) -> list[dict[str, Any]]:
        return super().read()[: -self.lost]

    def kept(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.unstored.read_text().splitlines()]


@pytest.fixture
def storage(tmp_path: Path) -> Forgetful:
    return Forgetful(tmp_path)


def ignore(event: object) -> None:
    """Nobody is notified."""


def test_an_answer_to_what_was_never_asked_is_refused_and_kept(storage: Forgetful) -> None:
    study = opened(storage)
    stranger = replace(asked(study), token="none")
    with pytest.raises(NeverAskedError, match=r"unstored\.jsonl"):
        study._log.answer(stranger, Told(stranger.number, {"a": 0.5}, 2.0, token="none"), ignore)
    assert [line["answer"]["values"] for line in storage.kept()] == [{"a": 0.5}]
    assert study.spent == 0.0


@pytest.mark.parametrize(
    "use",
    [
        lambda study: study.refresh(),
        lambda study: study.note("Anything that is written."),
        lambda study: study.ask(),
    ],
)
def test_answers_that_the_storage_lost_are_kept_once(storage: Forgetful, use: Callable[[Study], object]) -> None:
    study = opened(storage)
    for _ in range(2):
        answered(study, asked(study))
    storage.lose(events=4)
    for _ in range(2):
        with pytest.raises(LogReplacedError):
            use(study)
    assert [line["answer"]["number"] for line in storage.kept()] == [0, 1]


def test_nothing_is_kept_if_no_answer_was_lost(storage: Forgetful) -> None:
    study = opened(storage)
    study.note("It is lost and was no answer.")
    storage.lose(events=1)
    with pytest.raises(LogReplacedError):
        study.refresh()
    assert not storage.unstored.exists()


def test_the_first_error_is_raised_if_what_was_lost_cannot_be_read(
    storage: Forgetful, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unreadable() -> None:
        raise StorageError("Away.")

    study = opened(storage)
    answered(study, asked(study))
    storage.lose(events=1)
    monkeypatch.setattr(storage, "read_anew", unreadable)
    with caplog.at_level(logging.WARNING), pytest.raises(LogReplacedError):
        study.refresh()
    assert "Away." in caplog.text


def test_who_is_notified_of_an_event_may_use_the_log() -> None:
    study = opened(MemoryStorage())
    seen: list[object] = []

    def notice(event: object) -> None:
        seen.append(event)
        if len(seen) == 1:
            study._log.commit(lambda: [Noted("second")], notice)

    study._log.commit(lambda: [Noted("first")], notice)
    assert seen == [Noted("first"), Noted("second")]
