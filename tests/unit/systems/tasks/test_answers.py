"""Answering questions about a text: windows, spans and scores as a hand count gives them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.tasks.small_tasks import (  # noqa: E402
    BERT,
    CONTEXT,
    QUESTIONS,
    TEXT,
    Constant,
    answer_task,
    generator,
    on_one_thread,
    pieces_of,
)

from flexibo.errors import InvalidValueError  # noqa: E402
from flexibo.systems.data.base import Dataset, Question, Questions  # noqa: E402
from flexibo.systems.networks import bert  # noqa: E402
from flexibo.systems.tasks.answers import AnswerTask, f1_share, normal_answer  # noqa: E402
from flexibo.systems.tasks.base import LearningTask  # noqa: E402
from flexibo.systems.training import train  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with on_one_thread():
        yield


def test_bert_learns_answers() -> None:
    part = Questions(QUESTIONS * 4)
    task: LearningTask = AnswerTask("bert", Dataset("questions", part, part, "f"), replace(TEXT, epochs=8))
    trained = train(task, BERT | {"sequence_length": 32}, seed=0)
    assert trained.losses[-1] < 0.8 * trained.losses[0]
    assert 0 <= trained.error_percent <= 100
    assert trained.model(*task.inputs(BERT, 5, "cpu")).shape == (5, 16, 2)


def test_a_window_has_the_question_and_the_text_between_special_tokens() -> None:
    task = answer_task()
    tokens, mask, segments = (tensor[3] for tensor in task.inputs(BERT, 4, "cpu"))
    line = ["[CLS]", "what", "is", "short", "?", "[SEP]", "short", "text", ".", "[SEP]"]
    assert pieces_of(task, tokens) == line + ["[PAD]"] * 6
    assert mask.tolist() == [True] * 10 + [False] * 6
    assert segments.tolist() == [0] * 6 + [1] * 4 + [0] * 6


@pytest.mark.parametrize("length", [5, 13, 16, 24, 32])
def test_training_windows_mark_the_answer_or_the_first_token(length: int) -> None:
    task = answer_task()
    marked: list[tuple[str, str]] = []
    for seed in range(30):
        for batch in task.batches(BERT | {"sequence_length": length}, generator(seed), "cpu"):
            for tokens, mask, segments, first, last in zip(*batch, strict=True):
                pieces = pieces_of(task, tokens)
                assert pieces[0] == "[CLS]"
                assert pieces.count("[SEP]") == 2
                assert [piece != "[PAD]" for piece in pieces] == mask.tolist()
                if int(first) == 0:
                    assert int(last) == 0
                    continue
                assert bool(segments[first : last + 1].all())
                question = " ".join(pieces[1 : pieces.index("[SEP]")])
                marked.append((question, " ".join(pieces[first : last + 1])))
    answers = {answer for _, answer in marked}
    if length == 32:
        assert answers == {"a red hat", "rome", "text"}
        assert {question for question, _ in marked} == {"what has ann ?", "where lives cem ?", "what is short ?"}
    else:
        assert answers <= {"a red hat", "rome", "text"}
        assert "rome" in answers
        assert "text" in answers


def test_half_of_the_windows_of_a_long_text_hold_the_answer_at_least() -> None:
    task = answer_task()
    long = replace(QUESTIONS[1], context=CONTEXT + " And so on." * 200)
    part = Questions((long,) * 50)
    task = replace(task, data=Dataset("long", part, part, "f"))
    firsts = torch.cat([batch[3] for batch in task.batches(BERT | {"batch_size": 50}, generator(), "cpu")])
    assert 15 <= int((firsts > 0).sum()) <= 35


class Oracle(torch.nn.Module):  # type: ignore[misc]
    """Finds a word wherever it stands, and says how sure it is; [CLS] has the logit that it is given."""

    def __init__(self, task: AnswerTask, words: dict[str, float], null: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.scores = {task.words.numbers[word]: score for word, score in words.items()}
        self.null = null

    def forward(self, tokens: Any, mask: Any, segments: Any) -> Any:
        logits = torch.full((*tokens.shape, 2), -5.0)
        for number, score in self.scores.items():
            logits[tokens == number] = score
        logits[:, 0] = self.null
        return logits


@pytest.mark.parametrize("length", [9, 13, 16, 32, 64])
def test_the_best_span_of_all_windows_is_the_answer(length: int) -> None:
    task = answer_task()
    model = Oracle(task, {"rome": 5.0, "hat": 3.0, "short": 2.0}, null=0.0)
    design = BERT | {"sequence_length": length}
    assert task.predictions(model, design, "cpu") == ["Rome", "Rome", "Rome", "Short"]


def test_there_is_no_answer_where_every_window_prefers_none() -> None:
    task = answer_task()
    model = Oracle(task, {"rome": 5.0}, null=5.0)
    assert task.predictions(model, BERT, "cpu") == ["", "", "", ""]
    assert task.error_percent(model, BERT, "cpu") == 75.0
    assert task.error_percent(Oracle(task, {"rome": 5.0, "text": 4.0}, 0.0), BERT, "cpu") == 50.0


def test_a_question_is_always_answered_where_all_training_questions_are() -> None:
    answered = Questions(tuple(one for one in QUESTIONS if one.answers))
    task = AnswerTask("bert", Dataset("answerable", answered, Questions(QUESTIONS), "f"), TEXT)
    model = Oracle(task, {"rome": 5.0, "text": 4.0}, null=9.0)
    assert task.predictions(model, BERT, "cpu") == ["Rome", "Rome", "Rome", "text"]


def test_one_window_that_doubts_there_is_no_answer_is_enough() -> None:
    task = answer_task()
    rome = task.words.numbers["rome"]

    def logits(tokens: Any, mask: Any, segments: Any) -> Any:
        out = torch.full((*tokens.shape, 2), -5.0)
        out[tokens == rome] = 1.0
        # Windows without Rome are sure that there is nothing in them; those with it are not.
        out[:, 0] = torch.where((tokens == rome).any(dim=1), 0.0, 9.0)[:, None]
        return out

    assert task.predictions(Constant(logits), BERT, "cpu") == ["Rome", "Rome", "Rome", ""]


def test_the_question_itself_is_never_the_answer() -> None:
    task = answer_task()
    model = Oracle(task, {"what": 9.0, "where": 9.0, "?": 9.0, "rome": 1.0, "text": 1.0}, null=0.0)
    assert task.predictions(model, BERT | {"sequence_length": 64}, "cpu") == ["Rome", "Rome", "Rome", "text"]


def test_an_answer_ends_after_it_starts_and_is_not_too_long() -> None:
    context = "begin " + "and " * 40 + "stop begin now stop"
    part = Questions((Question(context, "when", ()),))
    task = AnswerTask("bert", Dataset("long", part, part, "f"), TEXT)

    def logits(tokens: Any, mask: Any, segments: Any) -> Any:
        out = torch.full((*tokens.shape, 2), -5.0)
        out[:, 0] = 0.0
        is_begin, is_stop = (tokens == task.words.numbers[word] for word in ("begin", "stop"))
        out[..., 0][is_begin] = torch.tensor([6.0, 4.0])  # the better begin is 41 words before any stop
        out[..., 1][is_stop] = torch.tensor([6.0, 4.0])  # the better stop is before the other begin
        return out

    model = Constant(logits)
    assert task.predictions(model, BERT | {"sequence_length": 64}, "cpu") == ["begin now stop"]


def test_a_sequence_without_room_for_a_text_is_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"'sequence_length' is 4; .*\b5\b"):
        answer_task().inputs(BERT | {"sequence_length": 4}, 1, "cpu")


@pytest.mark.parametrize(
    ("prediction", "answers", "share"),
    [
        ("red hat", ["red hat"], 1.0),
        ("The Red Hat!", ["a red hat"], 1.0),
        # Shared: red. Precision 1/3, recall 1/2: F1 = 2 * 1 / (3 + 2).
        ("big red coat", ["red hat"], 0.4),
        ("big red coat", ["red hat", "red coat"], 0.8),
        # A word counts as often as it occurs in both: shared "to" twice of 3 and 2.
        ("to to to", ["to to"], 0.8),
        ("blue", ["red hat"], 0.0),
        ("", [], 1.0),
        ("anything", [], 0.0),
        ("", ["red hat"], 0.0),
        ("the", [], 1.0),
        ("", ["the"], 1.0),
        ("hat", ["the", "hat"], 1.0),
    ],
)
def test_f1_agrees_with_the_hand_count(prediction: str, answers: list[str], share: float) -> None:
    assert f1_share(prediction, answers) == pytest.approx(share)


def test_answers_are_normalised_as_squad_does() -> None:
    assert normal_answer("  The U.S.  Army's an-theme, a Day ") == "us armys antheme day"


def test_what_is_only_run_encodes_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    task, encoded = answer_task(), []
    known = task.words
    encode = type(known).encode
    monkeypatch.setattr(type(known), "encode", lambda self, text: encoded.append(text) or encode(self, text))
    task.inputs(BERT, 1, "cpu")
    assert encoded == [task.data.test.questions[0].question]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ((), 0.0),  # there is no answer
        (("old",), 100 * (1 - 1 / 2)),  # no answer: right for the other half
        (("a red", "old", "old", "old"), 100 * (1 - 3 / 5)),  # the most frequent answer: three of five
        # The first sentence, "ann has red hat", shares two words with two of three: F1 = 2 * 2 / (4 + 2).
        (("ann has", "red hat"), 100 * (1 - (2 / 3 + 2 / 3) / 3)),
    ],
)
def test_the_chance_level_is_that_of_the_best_answer_that_needs_no_question(
    answers: tuple[str, ...], expected: float
) -> None:
    questions = [Question(CONTEXT, "What?", ((CONTEXT.lower().index(text), text),)) for text in answers]
    part = Questions((*questions, Question(CONTEXT, "Why?", ())))
    task = AnswerTask("bert", Dataset("questions", part, part, "f"), TEXT)
    assert task.chance_percent == pytest.approx(expected)


@pytest.mark.slow
def test_bert_beats_chance_in_answers() -> None:
    part = Questions(QUESTIONS * 4)
    how = replace(TEXT, epochs=30, size=bert.EncoderSize(1, 64, 2, 128), learning_rate_factor=100)
    task = AnswerTask("bert", Dataset("questions", part, part, "f"), how)
    assert train(task, BERT | {"sequence_length": 32}, seed=0).error_percent < task.chance_percent - 10
