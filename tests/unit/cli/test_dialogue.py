"""Questions whose answers can be taken back."""

from __future__ import annotations

import pytest

from flexibo.cli._dialogue import Dialogue


def test_the_questions_run_again_without_asking_what_was_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["a", "b", "back", "maybe", "c", "yes"])
    asked: list[str] = []

    def prompt(question: str, **how: object) -> str:
        asked.append(question)
        return next(answers)

    monkeypatch.setattr("typer.prompt", prompt)
    dialogue = Dialogue()

    def questions() -> tuple[str, str, bool]:
        dialogue.say("hello")
        first = dialogue.ask("first")
        dialogue.say(f"first is {first}")
        check = lambda answer: "no" if answer == "maybe" else ""  # noqa: E731
        return first, dialogue.ask("second", check=check), dialogue.confirm("third")

    assert dialogue.held(questions) == ("a", "c", True)
    assert asked == ["first", "second", "third [y/N]", "second", "second", "third [y/N]"]
    shown = capsys.readouterr().out
    assert shown.count("hello") == 1
    assert shown.count("first is a") == 2
