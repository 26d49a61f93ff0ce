"""Recorded speech: spoken digits in an archive, Common Voice's layout, and wave files of every width."""

from __future__ import annotations

import io
import struct
import sys
import wave
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from flexibo.errors import MissingExtraError
from flexibo.systems.data import speech
from flexibo.systems.data.base import DamagedDataError, MissingDataError, Use

TONE = np.sin(np.arange(80) / 5) * 0.5


def wave_bytes(samples: Any = TONE, *, width: int = 2, rate: int = 8_000, channels: int = 1) -> bytes:
    """A wave file of samples in [-1, 1]; several channels are interleaved."""
    scaled = np.round(np.asarray(samples, dtype=float) * (2.0 ** (8 * width - 1) - 1)).astype(np.int64)
    if width == 1:
        scaled += 128
    frames = b"".join(int(one).to_bytes(width, "little", signed=width > 1) for one in scaled)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(frames)
    return out.getvalue()


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_waves_of_every_width_become_samples_between_minus_one_and_one(width: int) -> None:
    samples, rate = speech.read_wave(wave_bytes([0.0, 0.5, -0.5, 1.0, -1.0], width=width), "x.wav")
    assert (samples.dtype, rate) == (np.float32, 8_000)
    assert np.allclose(samples, [0.0, 0.5, -0.5, 1.0, -1.0], atol=1.5 * 2.0 ** -(8 * width - 1))
    assert np.abs(samples).max() <= 1


def test_the_channels_of_a_stereo_wave_are_averaged() -> None:
    samples, _ = speech.read_wave(wave_bytes([0.5, 0.0, -0.25, -0.75], channels=2), "x.wav")
    assert np.allclose(samples, [0.25, -0.5], atol=1e-3)


def test_strings_of_digits_are_joined_from_recordings_of_one_speaker_and_one_part(tmp_path: Path) -> None:
    takes = {
        f"{digit}_{speaker}_{take}.wav": wave_bytes([0.1 * (1 + number), 0.5 if take < 5 else 0.7] * 20)
        for number, speaker in enumerate(("ann", "bob"))
        for digit in range(10)
        for take in range(7)
    }
    with zipfile.ZipFile(tmp_path / "free-spoken-digits.zip", "w") as archive:
        for name, content in takes.items():
            archive.writestr(name, content)
    data = speech.load_digit_strings(tmp_path, limit=40)
    assert (len(data.train), len(data.test)) == (40, 200)
    for part, mark in ((data.train, 0.7), (data.test, 0.5)):
        lengths = [len(words.split()) for words in part.transcripts]
        assert {min(lengths), max(lengths)} == {3, 8}
        assert all(set(words.split()) <= set(speech.DIGIT_WORDS) for words in part.transcripts)
        for samples, n_digits in zip(part.waves, lengths, strict=True):
            speakers = {level for level in (0.1, 0.2) if np.isclose(samples, level, atol=1e-3).any()}
            assert len(speakers) == 1
            assert np.isclose(samples, mark, atol=1e-3).sum() == 20 * n_digits
    again, other = (speech.load_digit_strings(tmp_path, limit=40, seed=seed) for seed in (0, 1))
    assert data.fingerprint == again.fingerprint != other.fingerprint


def test_another_rate_is_reached_by_linear_interpolation() -> None:
    samples = np.array([0.0, 1.0, 0.5], dtype=np.float32)
    assert np.allclose(speech.resampled(samples, 8_000, 16_000), [0.0, 0.5, 1.0, 0.75, 0.5, 0.5])
    assert np.allclose(speech.resampled(samples, 8_000, 4_000), [0.0, 0.5])
    assert np.allclose(speech.resampled(samples, 8_000, 1_000), [0.0])
    assert speech.resampled(samples, 8_000, 16_000).dtype == np.float32
    assert speech.resampled(samples, 8_000, 8_000) is samples


WHOLE = wave_bytes()
FLOAT_WAVE = WHOLE[:20] + struct.pack("<H", 3) + WHOLE[22:]


@pytest.mark.parametrize(
    ("data", "facts"),
    [
        (WHOLE[:-7], "80 samples .*76;"),
        (WHOLE[:30], "cut short"),
        (WHOLE[:6], "ends too early"),
        (b"", "ends too early"),
        (b"ID3" + WHOLE, "no wave file"),
        (FLOAT_WAVE, "no wave file"),
        (wave_bytes([]), "0 samples"),
        (WHOLE[:24] + bytes(4) + WHOLE[28:], "0 samples per second"),
        (wave_bytes(rate=1), " 1 samples .*1,000 to 400,000"),
        (wave_bytes(rate=2**30), "1,073,741,824 samples per second"),
    ],
)
def test_damaged_waves_are_refused(data: bytes, facts: str) -> None:
    with pytest.raises(DamagedDataError, match=f"x.wav .*{facts}"):
        speech.read_wave(data, "x.wav")


def write_digits(folder: Path, extra: dict[str, bytes] | None = None, *, takes: int = 8, name: str = "") -> Path:
    with zipfile.ZipFile(folder / (name or speech.DIGIT_ARCHIVES[0]), "w") as archive:
        for digit in range(10):
            for take in range(takes):
                archive.writestr(f"a/recordings/{digit}_jackson_{take}.wav", wave_bytes(TONE * (digit + 1) / 20))
        for member, data in (extra or {"a/README.md": b"read me"}).items():
            archive.writestr(member, data)
    return folder


def test_digits_are_words_and_the_first_five_takes_are_the_test_part(tmp_path: Path) -> None:
    data = speech.load_spoken_digits(write_digits(tmp_path))
    assert (len(data.train), len(data.test), data.train.rate) == (30, 50, 8_000)
    assert sorted(set(data.train.transcripts)) == sorted(speech.DIGIT_WORDS)
    for samples, word in zip(data.test.waves, data.test.transcripts, strict=True):
        assert np.allclose(samples, TONE * (speech.DIGIT_WORDS.index(word) + 1) / 20, atol=1e-4)
    assert (data.name, "0 to 4" in data.note) == ("spoken-digits", True)


def test_take_10_is_not_taken_for_take_1(tmp_path: Path) -> None:
    assert len(speech.load_spoken_digits(write_digits(tmp_path, takes=11)).train) == 60


def test_a_limit_keeps_the_digits_in_proportion_and_a_rate_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_digits(tmp_path, name="free-spoken-digit-dataset-master.zip")
    monkeypatch.setattr(speech, "DIGIT_RATE", 4_000)
    data = speech.load_spoken_digits(tmp_path, limit=20)
    assert sorted(data.train.transcripts) == sorted(speech.DIGIT_WORDS * 2)
    assert {len(samples) for samples in data.train.waves} == {40}
    assert data.test.rate == 4_000


def test_missing_or_wrong_archives_of_digits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=rf"{tmp_path}: free-spoken-digits\.zip is missing"):
        speech.load_spoken_digits(tmp_path)
    with pytest.raises(DamagedDataError, match=r"\b0 recordings .*\b50 to test"):
        speech.load_spoken_digits(write_digits(tmp_path, takes=5))
    with pytest.raises(DamagedDataError, match=r"3_theo_9\.wav in .*cut short"):
        speech.load_spoken_digits(write_digits(tmp_path, {"3_theo_9.wav": WHOLE[:-8]}))
    with pytest.raises(DamagedDataError, match=r"\.\./3_theo_9\.wav.*points out"):
        speech.load_spoken_digits(write_digits(tmp_path, {"../3_theo_9.wav": WHOLE}))


HEADER = "client_id\tpath\tsentence\tup_votes"


def write_voice(folder: Path, train: str = "", clips: dict[str, bytes] | None = None) -> Path:
    rows = "".join(f"id\tclip_{n}.wav\tSentence {n}, “read” aloud!\t2\n" for n in range(4))
    (folder / "train.tsv").write_bytes((train or f"{HEADER}\n{rows}").encode())
    (folder / "test.tsv").write_text(f'{HEADER}\nid\ttest\t"Don\u2019t\t1\n')
    (folder / "clips").mkdir()
    files = {f"clip_{n}.wav": wave_bytes(TONE / (n + 1)) for n in range(4)} | {"test.wav": wave_bytes()}
    for name, data in (files | (clips or {})).items():
        (folder / "clips" / name).write_bytes(data)
    return folder


def test_the_tables_of_common_voice_are_the_two_parts(tmp_path: Path) -> None:
    data = speech.load_common_voice(write_voice(tmp_path))
    assert data.train.transcripts == tuple(f"sentence {n} read aloud" for n in range(4))
    assert data.test.transcripts == ("don't",)
    assert (data.name, data.train.rate) == ("common-voice", 16_000)
    assert {len(samples) for samples in data.train.waves} == {160}
    assert np.allclose(data.train.waves[1][::2], TONE / 2, atol=1e-4)


def test_only_the_clips_that_a_limit_chooses_are_read(tmp_path: Path) -> None:
    data = speech.load_common_voice(write_voice(tmp_path), limit=2, seed=1)
    assert len(data.train) == 2
    for n in range(4):
        if f"sentence {n} read aloud" not in data.train.transcripts:
            (tmp_path / "clips" / f"clip_{n}.wav").write_bytes(b"none")
    assert speech.load_common_voice(tmp_path, limit=2, seed=1).fingerprint == data.fingerprint


def test_what_is_only_run_needs_all_transcripts_and_the_first_held_out_waves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speech, "N_TO_RUN", 3)
    write_digits(tmp_path)
    for load in (speech.load_spoken_digits, speech.load_digit_strings):
        whole, part = load(tmp_path), load(tmp_path, use=Use.RUN)
        assert (part.train.transcripts, part.test.transcripts) == (whole.train.transcripts, whole.test.transcripts)
        assert (part.train.waves, len(part.test.waves)) == ((), 3)
        for mine, same in zip(part.test.waves, whole.test.waves, strict=False):
            assert np.array_equal(mine, same)
        assert (len(part.train), len(part.test)) == (len(whole.train), len(whole.test))
        assert part.test.first(5).transcripts == whole.test.transcripts[:3]


def test_of_common_voice_no_training_clip_is_decoded_to_run_a_network(tmp_path: Path) -> None:
    whole = speech.load_common_voice(write_voice(tmp_path))
    for n in range(4):
        (tmp_path / "clips" / f"clip_{n}.wav").write_bytes(b"none")
    part = speech.load_common_voice(tmp_path, use=Use.RUN)
    assert (part.train.transcripts, part.train.waves) == (whole.train.transcripts, ())
    assert np.array_equal(part.test.waves[0], whole.test.waves[0])


def test_missing_parts_of_common_voice_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=rf"{tmp_path}: train\.tsv, test\.tsv, clips/ are missing"):
        speech.load_common_voice(tmp_path)
    write_voice(tmp_path)
    (tmp_path / "clips" / "clip_2.wav").unlink()
    with pytest.raises(MissingDataError, match=rf"clip_2\.wav .*{tmp_path}/clips"):
        speech.load_common_voice(tmp_path)


@pytest.mark.parametrize(
    ("train", "facts"),
    [
        ("client_id\tfile\ttext\n1\t2\t3\n", "client_id, file, text; path and sentence "),
        ("path\ttext\n1\t2\n", "sentence is missing"),
        (f"{HEADER}\n", "lists no recordings"),
        (f"{HEADER}\nid\tclip_1.wav\n", "Line 2 of .* 2 cells .*header 4"),
        (f"{HEADER}\nid\tclip_1.wav\t?!\t1\n", r"Line 2 of .* no words .*\?!"),
        (f"{HEADER}\nid\t../../secret.wav\tA\t1\n", r"'\.\./\.\./secret\.wav';"),
        (f"{HEADER}\nid\t\tA\t1\n", "clip '';"),
        (" ", "has no text"),
    ],
)
def test_tables_that_are_not_as_they_should_be_are_refused(tmp_path: Path, train: str, facts: str) -> None:
    with pytest.raises(DamagedDataError, match=facts):
        speech.load_common_voice(write_voice(tmp_path, train))


def test_a_table_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    write_voice(tmp_path)
    (tmp_path / "test.tsv").write_bytes(HEADER.encode() + b"\nid\ttest\t\xe9\t1\n")
    with pytest.raises(DamagedDataError, match=rf"{tmp_path}/test\.tsv .*UTF-8.* 0xe9"):
        speech.load_common_voice(tmp_path)


MP3_TABLE = f"{HEADER}\nid\tfirst.mp3\tHello\t1\n"


def test_without_soundfile_a_compressed_clip_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(MissingExtraError, match=r"soundfile .*mp3.*flexibo\[dnn\]"):
        speech.load_common_voice(write_voice(tmp_path, MP3_TABLE, {"first.mp3": b"ID3"}))


def fake_soundfile(samples: Any) -> ModuleType:
    """A stand-in for soundfile: what it decodes to, or what it raises."""

    def read(file: Any, *, dtype: str, always_2d: bool) -> tuple[Any, int]:
        assert (file.read(3), dtype, always_2d) == (b"ID3", "float64", True)
        if isinstance(samples, Exception):
            raise samples
        return samples, 8_000

    module = ModuleType("soundfile")
    module.read = read  # type: ignore[attr-defined]
    return module


def test_compressed_clips_are_decoded_to_one_channel_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", fake_soundfile(np.array([[0.5, 0.25], [1.5, 1.5]])))
    write_voice(tmp_path, MP3_TABLE.replace(".mp3", ""), {"first.mp3": b"ID3"})
    monkeypatch.setattr(speech, "COMMON_VOICE_RATE", 8_000)
    assert speech.load_common_voice(tmp_path).train.waves[0].tolist() == [0.375, 1.0]


@pytest.mark.parametrize(
    ("samples", "facts"), [(RuntimeError("no frames"), "decoded as sound"), (np.empty((0, 1)), "has no sound")]
)
def test_compressed_clips_that_cannot_be_decoded_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, samples: Any, facts: str
) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", fake_soundfile(samples))
    with pytest.raises(DamagedDataError, match=rf"first\.mp3 .*{facts}"):
        speech.load_common_voice(write_voice(tmp_path, MP3_TABLE, {"first.mp3": b"ID3"}))


@pytest.mark.parametrize(
    ("sentence", "words"),
    [("It's 5 o'clock.", "it's 5 o'clock"), ("'Quoted' — ÉTÉ", "quoted été"), ("a_b", "a b"), ("...", "")],
)
def test_what_is_said_has_no_punctuation_and_no_capitals(sentence: str, words: str) -> None:
    assert speech.spoken(sentence) == words
