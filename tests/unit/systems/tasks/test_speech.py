"""Writing down speech: spectrograms, transcripts and error rates as a hand count gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.tasks.small_tasks import (  # noqa: E402
    RATE,
    RNG,
    SPEECH,
    Constant,
    generator,
    on_one_thread,
    speech_data,
    speech_task,
    tone,
)

from flexibo.errors import InvalidValueError  # noqa: E402
from flexibo.systems.networks import deepspeech  # noqa: E402
from flexibo.systems.tasks import speech  # noqa: E402
from flexibo.systems.tasks.base import LearningTask  # noqa: E402
from flexibo.systems.tasks.speech import (  # noqa: E402
    MOST_FRAMES,
    SpeechTask,
    SpeechTraining,
    decoded,
    error_rate_percent,
    log_spectrogram,
    n_edits,
)
from flexibo.systems.training import train  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with on_one_thread():
        yield


def test_deepspeech_learns() -> None:
    task: LearningTask = speech_task()
    trained = train(task, SPEECH, seed=0)
    assert trained.losses[-1] < 0.7 * trained.losses[0]
    assert trained.epochs == len(trained.losses) == 6
    outputs, lengths = trained.model(*task.inputs(SPEECH, 5, "cpu"))
    assert outputs.shape[0] == len(lengths) == 5
    assert outputs.shape[2] == 4  # the blank, a, b, c


def test_a_tone_is_loudest_in_its_own_band() -> None:
    # 11 frequencies from 0 to 500 hertz at 1,000 samples a second; 300 hertz is the seventh.
    log = log_spectrogram(tone(300.0), RATE, 11)
    assert log.shape == (39, 11)  # 400 samples, 10 per frame, a window of 20
    assert set(log.argmax(dim=1).tolist()) == {6}


def test_bands_are_gathered_from_frequencies() -> None:
    fine, coarse = log_spectrogram(tone(300.0), RATE, 11), log_spectrogram(tone(300.0), RATE, 1)
    assert coarse.exp()[:, 0].tolist() == pytest.approx(fine.exp().mean(dim=1).tolist(), rel=1e-4)


@pytest.mark.parametrize(("samples", "frames"), [(0, 1), (5, 1), (20, 1), (29, 1), (30, 2), (20_000, MOST_FRAMES)])
def test_every_wave_has_a_frame_and_none_too_many(samples: int, frames: int) -> None:
    assert log_spectrogram(np.zeros(samples, dtype=np.float32), RATE, 4).shape == (frames, 4)


def test_training_spectrograms_are_normalised_over_their_frames() -> None:
    part = speech_task()._kept("train", "cpu")
    frames = torch.cat([one[:count] for one, count in zip(part.spectrograms, part.frames, strict=True)])
    assert frames.mean(dim=0).tolist() == pytest.approx([0] * 8, abs=1e-4)
    assert frames.std(dim=0, correction=0).tolist() == pytest.approx([1] * 8, abs=1e-3)


def test_an_example_keeps_at_most_the_designs_frames_and_its_whole_transcript() -> None:
    task = speech_task()
    assert task.alphabet == "abc"
    sizes = []
    for spectrograms, frames, letters, n_letters in task.batches(
        SPEECH | {"sequence_length": 16, "batch_size": 5}, generator(), "cpu"
    ):
        sizes.append(len(frames))
        assert spectrograms.shape == (len(frames), 16, 8)
        assert set(frames.tolist()) == {16}
        assert {tuple(line) for line in letters.tolist()} <= {(1, 1), (2, 3)}
        assert set(n_letters.tolist()) == {2}
    assert sizes == [4, 4, 4]
    _, frames = task.inputs(SPEECH | {"sequence_length": 1024}, 3, "cpu")
    assert frames.tolist() == [39, 40, 41]


@pytest.mark.parametrize("length", [16, 64, 1024])
def test_spectrograms_for_inference_are_as_long_as_the_sequence(length: int) -> None:
    spectrograms, frames = speech_task().inputs(SPEECH | {"sequence_length": length}, 7, "cpu")
    assert spectrograms.shape == (7, length, 8)
    assert int(frames.max()) == min(length, 41)


def test_a_transcript_without_room_teaches_nothing_and_breaks_nothing() -> None:
    task = speech_task()
    batch = (torch.zeros(1, 4, 8), torch.tensor([4]), torch.tensor([[1] * 9]), torch.tensor([9]))
    assert float(task.loss(task.build(SPEECH), batch).detach()) == 0


def writes(*lines: str) -> Constant:
    """A network that writes these texts, whatever it hears; "-" is a blank."""
    number = {"-": 0, "a": 1, "b": 2, "c": 3}
    best = torch.tensor([[number[letter] for letter in line] for line in lines])
    outputs = torch.nn.functional.one_hot(best, 4).float().log().clamp(min=-50)
    return Constant(lambda spectrograms, frames: (outputs, torch.full((len(lines),), best.shape[1])))


def test_the_error_counts_words() -> None:
    words = speech_task()
    # Held out: aa, bc, aa. Written: aa, bb, a.
    model = writes("a-a--", "b-b--", "aaa--")
    assert words.error_percent(model, SPEECH, "cpu") == pytest.approx(100 * 2 / 3)
    assert model.modes == [False]
    assert words.error_percent(writes("-----", "-----", "-----"), SPEECH, "cpu") == 100.0


def test_who_writes_more_than_was_said_has_more_than_a_hundred_percent_errors() -> None:
    assert error_rate_percent(["a b c d"], ["a"]) == 300.0


@pytest.mark.parametrize(
    ("first", "second", "edits"),
    [
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "", 3),
        ("abc", "abc", 0),
        ("kitten", "sitting", 3),
        ("flaw", "lawn", 2),
        ("intention", "execution", 5),
        (["one", "two"], ["two"], 1),
        (["a"], ["a", "b", "b", "b"], 3),
    ],
)
def test_edits_agree_with_the_hand_count(first: Any, second: Any, edits: int) -> None:
    assert n_edits(first, second) == edits
    assert n_edits(second, first) == edits


def test_edits_agree_with_the_textbooks_recursion() -> None:
    def slow(first: str, second: str) -> int:
        if not first or not second:
            return len(first) + len(second)
        change = slow(first[1:], second[1:]) + (first[0] != second[0])
        return min(change, slow(first[1:], second) + 1, slow(first, second[1:]) + 1)

    rng = RNG(0)
    for _ in range(40):
        first, second = ("".join(rng.choice(list("ab"), rng.integers(0, 6))) for _ in range(2))
        assert n_edits(first, second) == slow(first, second)


def test_rates_are_over_all_texts_together() -> None:
    assert error_rate_percent(["one", "x y z"], ["one", "a b c"]) == 75.0
    with pytest.raises(InvalidValueError, match=r"held-out transcripts .*no words"):
        error_rate_percent([""], [" "])


def test_repetitions_are_one_letter_unless_a_blank_is_between_them() -> None:
    best = np.array([[1, 1, 0, 1, 2], [0, 0, 0, 0, 0], [3, 3, 3, 3, 1]])
    assert decoded(best, np.array([5, 5, 4]), "abc") == ["aab", "", "c"]


def test_learning_rate_and_epochs_of_speech_are_the_designs() -> None:
    task = SpeechTask("deepspeech", speech_data())
    assert task.epochs(SPEECH) == 6
    optimiser = task.optimiser(speech_task().build(SPEECH), SPEECH)
    assert optimiser.steps.param_groups[0]["initial_lr"] == pytest.approx(5e-4)


@pytest.mark.parametrize("change", [{"features": 9}, {"learning_rate_factor": 1.0}, {"size": deepspeech.FULL}])
def test_every_setting_of_speech_changes_the_fingerprint(change: dict[str, Any]) -> None:
    assert speech_task(**change).fingerprint != speech_task().fingerprint


def test_settings_of_speech_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"SpeechTraining\.features is 0"):
        SpeechTraining(features=0)


def test_what_is_only_run_computes_the_spectrograms_of_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    task, waves = speech_task(), []
    compute = speech.log_spectrogram
    monkeypatch.setattr(speech, "log_spectrogram", lambda wave, *how: waves.append(id(wave)) or compute(wave, *how))
    task.inputs(SPEECH, 2, "cpu")
    assert set(waves) == set(map(id, task.data.test.waves[:2]))


def test_the_chance_level_is_that_of_the_best_constant_answer() -> None:
    assert speech_task().chance_percent == pytest.approx(100 / 3)
