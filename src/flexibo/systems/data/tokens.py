"""Text to numbers: words and word pieces, as in BERT's uncased vocabularies.

The rules are those of Devlin et al. 2019, "BERT": control characters are dropped, words are lower-cased and stripped of
accents, punctuation and Chinese characters are tokens of their own, and a word is split greedily into the longest
pieces of the vocabulary, those inside a word beginning with ##. Every piece keeps its position in the text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from flexibo._internal.arrays import IntArray
from flexibo.errors import InvalidValueError
from flexibo.systems.data.base import DamagedDataError
from flexibo.systems.data.files import content

PAD, UNKNOWN, START, SEPARATOR = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
LONGEST_WORD = 200
# The size of the cache of words: later words are rare and not worth their memory.
MOST_REMEMBERED = 500_000

_SPACES = "".join(
    char
    for char in map(chr, range(0x3001))
    if char.isspace() and (char in "\t\n\r" or unicodedata.category(char) != "Cc")
)
_WORD = re.compile(f"[^{re.escape(_SPACES)}]+")
_CHINESE = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)

Piece: TypeAlias = tuple[int, int, int]  # the number of a piece, and where it begins and ends in the text


@dataclass(frozen=True, slots=True)
class WordPieces:
    """A vocabulary that turns text into numbers; the place of a piece is its number.

    >>> words = WordPieces((*SPECIAL, "un", "##happy", "!"))
    >>> words.encode("Unhappy!")
    [4, 5, 6]
    """

    pieces: tuple[str, ...]
    numbers: Mapping[str, int] = field(init=False, repr=False, compare=False)
    _known: dict[str, tuple[tuple[int, ...], tuple[Piece, ...]]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        numbers = {piece: number for number, piece in enumerate(self.pieces)}
        absent = [piece for piece in SPECIAL if piece not in numbers]
        if absent:
            raise InvalidValueError(f"The vocabulary lacks {', '.join(absent)}; it must have {', '.join(SPECIAL)}.")
        if len(numbers) < len(self.pieces):
            twice = next(piece for piece, many in Counter(self.pieces).items() if many > 1)
            raise InvalidValueError(f"The vocabulary has {twice!r} twice; each piece has one number.")
        object.__setattr__(self, "numbers", numbers)

    @classmethod
    def read(cls, path: Path) -> WordPieces:
        """The vocabulary of a vocab.txt, one piece per line, or of a tokenizer.json."""
        try:
            text = content(path).decode("utf-8")
            pieces = _of_tokenizer(text) if path.suffix == ".json" else text.removesuffix("\n").split("\n")
            return cls(tuple(piece.rstrip("\r") for piece in pieces))
        except UnicodeDecodeError as error:
            raise DamagedDataError(f"{path} is not UTF-8 text.") from error
        except InvalidValueError as error:
            raise DamagedDataError(f"{path} is no vocabulary of BERT: {error}") from error

    @classmethod
    def learned(cls, texts: Iterable[str], size: int) -> WordPieces:
        """A vocabulary made from texts: their characters, then their words, by frequency and then alphabetically."""
        raw: Counter[str] = Counter()
        for text in texts:
            raw.update(_WORD.findall(text))
        words: Counter[str] = Counter()
        for written, many in raw.items():
            for word, _ in _words(written):
                words[word] += many
        characters = sorted(set().union(*words)) if words else []
        first = [*SPECIAL, *characters, *(f"##{char}" for char in characters)]
        if size < len(first):
            raise InvalidValueError(
                f"The size of the vocabulary is {size}; the {len(characters):,} characters of these texts need at "
                f"least {len(first):,}."
            )
        by_frequency = sorted(words, key=lambda word: (-words[word], word))
        longer = (word for word in by_frequency if 1 < len(word) <= LONGEST_WORD)
        return cls((*first, *(word for word, _ in zip(longer, range(size - len(first)), strict=False))))

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's pieces, without [CLS] and [SEP]."""
        numbers: list[int] = []
        known = self._known
        for written in _WORD.findall(text):
            numbers += (known.get(written) or self._of_word(written))[0]
        return numbers

    def located(self, text: str) -> list[Piece]:
        """The pieces of a text with their positions."""
        return [
            (number, match.start() + begin, match.start() + end)
            for match in _WORD.finditer(text)
            for number, begin, end in self._of_word(match[0])[1]
        ]

    def _of_word(self, written: str) -> tuple[tuple[int, ...], tuple[Piece, ...]]:
        known = self._known.get(written)
        if known is None:
            pieces = tuple(piece for word, origins in _words(written) for piece in self._cut(word, origins))
            known = tuple(number for number, _, _ in pieces), pieces
            if len(self._known) < MOST_REMEMBERED:
                self._known[written] = known
        return known

    def _cut(self, word: str, origins: list[int]) -> list[Piece]:
        """The longest pieces from the left; one [UNK] for the whole word if a part has no piece."""
        whole = [(self.numbers[UNKNOWN], origins[0], origins[-1] + 1)]
        if len(word) > LONGEST_WORD:
            return whole
        found: list[Piece] = []
        begin = 0
        while begin < len(word):
            for end in range(len(word), begin, -1):
                number = self.numbers.get(word[begin:end] if begin == 0 else f"##{word[begin:end]}")
                if number is not None:
                    found.append((number, origins[begin], origins[end - 1] + 1))
                    begin = end
                    break
            else:
                return whole
        return found


def _of_tokenizer(text: str) -> list[str]:
    """The pieces of a tokenizer.json whose model is WordPiece, in the order of their numbers."""
    try:
        numbers: dict[str, int] = json.loads(text)["model"]["vocab"]
        pieces = sorted(numbers, key=numbers.__getitem__)
        if [numbers[piece] for piece in pieces] == list(range(len(pieces))):
            return pieces
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    raise InvalidValueError("It must have a model with a vocab that numbers each piece from 0 on.")


def tokens_of(offsets: IntArray, begin: int, text: str) -> tuple[int, int] | None:
    """The first and last token of an answer, by their `offsets` (tokens, 2) in the text; None if a part was cut off."""
    end = begin + len(text)
    touched = np.flatnonzero((offsets[:, 0] < end) & (offsets[:, 1] > begin))
    if not len(touched) or offsets[touched[-1], 1] < begin + len(text.rstrip()):
        return None
    return int(touched[0]), int(touched[-1])


def _words(written: str) -> Iterator[tuple[str, list[int]]]:
    """The words in a run of characters without spaces: each in normal form, with the position of each character."""
    lower = written.lower()
    # Lower-cased as a whole, because a final Greek sigma differs; but a few characters become two.
    chars = lower if len(lower) == len(written) else [char.lower() for char in written]
    word, origins = "", list[int]()
    for place, char in enumerate(chars):
        for part in char if char.isascii() else unicodedata.normalize("NFD", char):
            if _is_dropped(part):
                continue
            if _stands_alone(part):
                if word:
                    yield word, origins
                    word, origins = "", []
                yield part, [place]
            else:
                word += part
                origins.append(place)
    if word:
        yield word, origins


def _is_dropped(char: str) -> bool:
    return not char.isalnum() and (char == "\ufffd" or unicodedata.category(char) in ("Mn", "Cc", "Cf"))


def _stands_alone(char: str) -> bool:
    code = ord(char)
    if code < 128:
        return char.isprintable() and not char.isalnum()
    return unicodedata.category(char).startswith("P") or any(low <= code <= high for low, high in _CHINESE)
