"""Recorded speech: Common Voice's tables and clips, and the archive free-spoken-digits.zip, as digits or joined.

Wave files are read with the standard library; mp3, flac and ogg with soundfile. Channels are averaged. Other rates are
resampled by linear interpolation, without a filter against aliasing.
"""

from __future__ import annotations

import csv
import io
import re
import wave
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo._internal.machine import cores
from flexibo.errors import missing_extra
from flexibo.systems.data.base import (
    N_TO_RUN,
    DamagedDataError,
    Dataset,
    MissingDataError,
    Recordings,
    Use,
    Wave,
)
from flexibo.systems.data.files import check_present, content, member_names, members, missing_clause, text_of
from flexibo.systems.data.subsets import N_TEST_AT_LEAST, chosen, dataset

DIGIT_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
DIGIT_ARCHIVES = ("free-spoken-digits.zip", "free-spoken-digit-dataset.zip", "free-spoken-digit-dataset-master.zip")
DIGIT_RATE = 8_000
COMMON_VOICE_RATE = 16_000
N_TEST_TAKES = 5  # takes 0 to 4 of each speaker and digit are the test part, as their authors define it
DIGIT_NOTE = f"Takes 0 to {N_TEST_TAKES - 1} of each speaker and digit are for testing, as its authors say."
N_STRINGS = (2_000, 400)  # strings to learn from and to test on
STRING_DIGITS = (3, 8)  # the shortest and the longest string
PAUSE_SECONDS = (0.05, 0.25)  # between two digits
MOST_BYTES = 2**28
SLOWEST, FASTEST = 1_000, 400_000  # the range of plausible sample rates
LONGEST_NAME = 200
_TABLES = ("train.tsv", "test.tsv")
_ENDINGS = (".mp3", ".wav", ".flac", ".ogg")


def missing_spoken_digits(folder: Path) -> str:
    """What is missing to load the spoken digits from a folder, as a clause; empty if nothing is."""
    return "" if _digit_archive(folder) else f"{DIGIT_ARCHIVES[0]} is missing"


@dataclass(frozen=True, slots=True)
class _Take:
    """A recorded digit: the file in the archive, the digit, and the speaker."""

    member: str
    digit: int
    speaker: str


def load_spoken_digits(
    folder: Path, *, limit: int | None = None, seed: int = 0, use: Use = Use.TRAIN
) -> Dataset[Recordings]:
    """The recordings in free-spoken-digits.zip, such as 7_jackson_32.wav (digit, speaker, take)."""
    path, *parts = _takes(folder, "spoken-digits", limit, seed)
    train, test = (
        Recordings(_digits(path, part[:count]), DIGIT_RATE, tuple(DIGIT_WORDS[take.digit] for take in part))
        for part, count in zip(parts, _n_waves(use), strict=True)
    )
    return dataset("spoken-digits", train, test, DIGIT_NOTE)


def load_digit_strings(
    folder: Path, *, limit: int | None = None, seed: int = 0, use: Use = Use.TRAIN
) -> Dataset[Recordings]:
    """Strings of 3 to 8 spoken digits with short pauses: recordings of one speaker, joined at random.

    The strings of each part are made from the recordings of that part alone; the seed decides them.
    """
    path, *parts = _takes(folder, "digit-strings", None, seed)
    n_train = N_STRINGS[0] if limit is None else min(limit, N_STRINGS[0])
    n_test = max(N_TEST_AT_LEAST, round(n_train * N_STRINGS[1] / N_STRINGS[0]))
    rngs = np.random.default_rng((seed, n_train)).spawn(2)
    train, test = (
        _strings(path, part, count, n_waves, rng)
        for part, count, n_waves, rng in zip(parts, (n_train, n_test), _n_waves(use), rngs, strict=True)
    )
    note = (
        f"Strings of {STRING_DIGITS[0]} to {STRING_DIGITS[1]} digits, joined from recordings of one speaker each. "
        f"{DIGIT_NOTE}"
    )
    return dataset("digit-strings", train, test, note)


def _n_waves(use: Use) -> tuple[int | None, int | None]:
    """How many training and held-out recordings are read; None: all."""
    return (None, None) if use is Use.TRAIN else (0, N_TO_RUN)


def _strings(
    path: Path, takes: Sequence[_Take], count: int, n_waves: int | None, rng: np.random.Generator
) -> Recordings:
    """Strings of digits, each of one speaker, with pauses of silence between them; the first `n_waves` are joined."""
    speakers = [take.speaker for take in takes]
    by_speaker = [np.flatnonzero(np.array(speakers) == speaker) for speaker in sorted(set(speakers))]
    drawn = []
    for _ in range(count):
        own = by_speaker[rng.integers(len(by_speaker))]
        rows = rng.choice(own, size=rng.integers(STRING_DIGITS[0], STRING_DIGITS[1] + 1))
        drawn.append((rows, [int(DIGIT_RATE * rng.uniform(*PAUSE_SECONDS)) for _ in rows]))
    digits = _digits(path, takes) if n_waves != 0 else ()
    waves = []
    for rows, pauses in drawn[:n_waves]:
        pieces = []
        for row, pause in zip(rows, pauses, strict=True):
            pieces += [digits[row], np.zeros(pause, dtype=np.float32)]
        waves.append(np.concatenate(pieces[:-1]))
    transcripts = (" ".join(DIGIT_WORDS[takes[row].digit] for row in rows) for rows, _ in drawn)
    return Recordings(tuple(waves), DIGIT_RATE, tuple(transcripts))


def _takes(folder: Path, name: str, limit: int | None, seed: int) -> tuple[Path, list[_Take], list[_Take]]:
    """The archive, and the recordings to learn from and those to test on."""
    path = _digit_archive(folder)
    if path is None:
        raise MissingDataError(f"{name} cannot be loaded from {folder}: {missing_spoken_digits(folder)}.")
    found = [(member, re.search(r"(?:^|/)(\d)_([^/_]+)_(\d+)\.wav$", member)) for member in member_names(path)]
    train, test = (
        [
            _Take(member, int(match[1]), match[2])
            for member, match in found
            if match and (int(match[3]) < N_TEST_TAKES) is is_test
        ]
        for is_test in (False, True)
    )
    if not train or not test:
        raise DamagedDataError(
            f"{path} has {len(train)} recordings to learn from and {len(test)} to test (takes 0 to "
            f"{N_TEST_TAKES - 1}), by names such as 7_jackson_32.wav; it must have both."
        )
    labels, test_labels = (np.array([take.digit for take in part]) for part in (train, test))
    rows, test_rows = chosen(labels, test_labels, limit, seed)
    return path, [train[row] for row in rows], [test[row] for row in test_rows]


def _digits(path: Path, takes: Sequence[_Take]) -> tuple[Wave, ...]:
    """The recordings of some takes."""
    data = members(path, [take.member for take in takes])
    recorded = [read_wave(one, f"{take.member} in {path}") for one, take in zip(data, takes, strict=True)]
    return tuple(resampled(samples, own, DIGIT_RATE) for samples, own in recorded)


def _digit_archive(folder: Path) -> Path | None:
    return next((folder / name for name in DIGIT_ARCHIVES if (folder / name).is_file()), None)


def missing_common_voice(folder: Path) -> str:
    """What is missing to load Common Voice from a folder, as a clause; empty if nothing is."""
    absent = [name for name in _TABLES if not (folder / name).is_file()]
    absent += [] if (folder / "clips").is_dir() else ["clips/"]
    return missing_clause(absent)


def load_common_voice(
    folder: Path, *, limit: int | None = None, seed: int = 0, use: Use = Use.TRAIN
) -> Dataset[Recordings]:
    """The recordings that train.tsv and test.tsv of one language list; only the chosen ones are read."""
    check_present("common-voice", folder, missing_common_voice(folder))
    train, test = (_rows_of(folder / name) for name in _TABLES)
    rows, test_rows = chosen(np.zeros(len(train)), np.zeros(len(test)), limit, seed)
    wanted = [train[row] for row in rows], [test[row] for row in test_rows]
    parts = []
    with ThreadPoolExecutor(cores()) as pool:  # what decodes a clip works without Python's lock
        for part, count in zip(wanted, _n_waves(use), strict=True):
            waves = tuple(pool.map(partial(_clip, folder / "clips"), [name for name, _ in part[:count]]))
            parts.append(Recordings(waves, COMMON_VOICE_RATE, tuple(sentence for _, sentence in part)))
    return dataset("common-voice", parts[0], parts[1])


def _rows_of(path: Path) -> list[tuple[str, str]]:
    """The file name and the transcript of each row."""
    table = csv.reader(io.StringIO(text_of(content(path), str(path)), newline=""), "excel-tab", quoting=csv.QUOTE_NONE)
    try:
        header, *lines = [line for line in table if line]
    except csv.Error as error:
        raise DamagedDataError(f"{path} is no table: {error}.") from error
    absent = [column for column in ("path", "sentence") if column not in header]
    if absent:
        raise DamagedDataError(
            f"{path} has the columns {', '.join(header)}; {' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} "
            "missing."
        )
    at, said = header.index("path"), header.index("sentence")
    rows = []
    for number, line in enumerate(lines, 2):
        if len(line) != len(header):
            raise DamagedDataError(f"Line {number} of {path} has {len(line)} cells and the header {len(header)}.")
        if not (transcript := spoken(line[said])):
            raise DamagedDataError(f"Line {number} of {path} has no words in its sentence {line[said]!r}.")
        rows.append((line[at], transcript))
    if not rows:
        raise DamagedDataError(f"{path} lists no recordings.")
    return rows


def spoken(sentence: str) -> str:
    r"""The words of a sentence, in lower case and without punctuation.

    >>> spoken("'Don\u2019t!', he said.")
    "don't he said"
    """
    words = re.sub(r"[^\w']|_", " ", sentence.replace("\u2019", "'").lower()).split()
    return " ".join(word for word in (word.strip("'") for word in words) if word)


def _clip(folder: Path, name: str) -> Wave:
    if not name or PurePosixPath(name).name != name or "\\" in name:
        raise DamagedDataError(f"A table lists the clip {name!r}; it must be the name of a file in {folder}.")
    endings = ("",) if Path(name).suffix.lower() in _ENDINGS else _ENDINGS
    if len(name) > LONGEST_NAME:
        raise DamagedDataError(f"A table lists a clip whose name has {len(name)} characters; no file has.")
    path = next((folder / (name + end) for end in endings if (folder / (name + end)).is_file()), None)
    if path is None:
        raise MissingDataError(f"The clip {name} is listed in a table and is not in {folder}; unpack the clips again.")
    data = content(path, most_bytes=MOST_BYTES)
    samples, own = (read_wave if path.suffix.lower() == ".wav" else _read_compressed)(data, str(path))
    return resampled(samples, own, COMMON_VOICE_RATE)


def read_wave(data: bytes, where: str) -> tuple[Wave, int]:
    """The samples of a wave file in [-1, 1], its channels averaged, and its rate."""
    try:
        with wave.open(io.BytesIO(data)) as file:
            channels, width, rate, n = file.getparams()[:4]
            frames = file.readframes(n)
    except (wave.Error, EOFError) as error:
        reason = str(error) or "it ends too early"
        raise DamagedDataError(f"{where} is no wave file of whole-number samples, or cut short: {reason}.") from error
    if not n or len(frames) != n * width * channels:
        raise DamagedDataError(
            f"{where} should have {n:,} samples and has {len(frames) // (width * channels):,}; it is cut short."
        )
    if not 1 <= width <= 4:
        raise DamagedDataError(f"{where} has {width} bytes per sample; 1 to 4 are read.")
    _check_recorded(rate, where)
    return _mono(_numbers(frames, width).reshape(-1, channels)), rate


def _numbers(frames: bytes, width: int) -> FloatArray:
    """Samples in [-1, 1]: bytes are unsigned in wave files, wider numbers are signed."""
    if width == 1:
        return (np.frombuffer(frames, dtype=np.uint8).astype(np.float64) - 128) / 128
    # As the upper bytes of 32 bits, numbers of 3 bytes have their sign bit in the right place.
    wide = np.zeros((len(frames) // width, 4), dtype=np.uint8)
    wide[:, 4 - width :] = np.frombuffer(frames, dtype=np.uint8).reshape(-1, width)
    return wide.view("<i4")[:, 0] / 2.0**31


def _mono(samples: FloatArray) -> Wave:
    mean: Wave = np.mean(samples, axis=1).astype(np.float32)
    return mean


def _read_compressed(data: bytes, where: str) -> tuple[Wave, int]:
    try:
        import soundfile  # type: ignore[import-not-found, import-untyped, unused-ignore]  # it has no types
    except (ImportError, OSError):  # OSError: the package is there and its C library is not
        raise missing_extra("soundfile (for mp3, flac and ogg)", "dnn") from None
    try:
        samples, rate = soundfile.read(io.BytesIO(data), dtype="float64", always_2d=True)
    except (RuntimeError, OSError, ValueError) as error:
        raise DamagedDataError(f"{where} cannot be decoded as sound; fetch it again.") from error
    if not len(samples):
        raise DamagedDataError(f"{where} has no sound.")
    _check_recorded(int(rate), where)
    return np.clip(_mono(samples), -1, 1), int(rate)


def _check_recorded(rate: int, where: str) -> None:
    """Raise an error for an implausible rate, whose resampling could take gigabytes."""
    if not SLOWEST <= rate <= FASTEST:
        raise DamagedDataError(f"{where} has {rate:,} samples per second; {SLOWEST:,} to {FASTEST:,} are read.")


def resampled(samples: Wave, own: int, rate: int) -> Wave:
    """The samples at another rate, by linear interpolation."""
    if own == rate:
        return samples
    n = max(1, round(len(samples) * rate / own))
    between: Wave = np.interp(np.arange(n) * (own / rate), np.arange(len(samples)), samples).astype(np.float32)
    return between
