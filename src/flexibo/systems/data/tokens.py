"""Text to numbers: words and word pieces, as in BERT's vocabularies.

The rules are those of Devlin et al. 2019, "BERT": control characters are dropped, words are lower-cased and stripped of
accents unless the vocabulary is cased, punctuation and Chinese characters are tokens of their own, and a word is split
greedily into the longest pieces of the vocabulary, those inside a word beginning with ##. Every piece keeps its
position in the text.

Where the package tokenizers is installed, it cuts texts in the scripts of `_COMMON`. For other characters its tables
are older than Python's, and pieces must not depend on what is installed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from flexibo._internal.arrays import IntArray
from flexibo.errors import InvalidValueError
from flexibo.systems.data.base import DamagedDataError
from flexibo.systems.data.files import content

PAD, UNKNOWN, START, SEPARATOR = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
LONGEST_WORD = 100  # longer ones are unknown, unless a tokenizer.json has another limit
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

# Latin, Greek, Cyrillic, Hebrew letters, punctuation, currencies, letter-like signs, Japanese, Chinese and Korean.
_COMMON = re.compile(
    "[\\x00-\\u052f\\u05d0-\\u05ea\\u1e00-\\u206f\\u20a0-\\u20bf\\u2100-\\u218b\\u3000-\\u3029"
    "\\u3030-\\u3096\\u3099-\\u30ff\\u4e00-\\u9fff"
    "\\uac00-\\ud7a3\\uff01-\\uff60]*"
)
_REFUSED = {"clean_text": False, "handle_chinese_chars": False}  # settings of a normalizer with other rules

Piece: TypeAlias = tuple[int, int, int]  # the number of a piece, and where it begins and ends in the text


@dataclass(frozen=True, slots=True)
class WordRules:
    """How a vocabulary wants words to be written."""

    lower_case: bool = True
    strip_accents: bool = True
    longest_word: int = LONGEST_WORD  # in characters; longer ones are unknown


@dataclass(frozen=True, slots=True)
class WordPieces:
    """A vocabulary that turns text into numbers; the place of a piece is its number.

    >>> words = WordPieces((*SPECIAL, "un", "##happy", "!"))
    >>> words.encode("Unhappy!")
    [4, 5, 6]
    """

    pieces: tuple[str, ...]
    rules: WordRules = WordRules()
    numbers: Mapping[str, int] = field(init=False, repr=False, compare=False)
    _library: Any = field(init=False, repr=False, compare=False)
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
        object.__setattr__(self, "_library", _library_for(numbers, self.rules))

    @classmethod
    def read(cls, path: Path) -> WordPieces:
        """The vocabulary of a vocab.txt, one piece per line, or of a tokenizer.json; its rules are in its folder."""
        try:
            text = content(path).decode("utf-8")
            pieces = _of_tokenizer(text) if path.suffix == ".json" else text.removesuffix("\n").split("\n")
            return cls(tuple(piece.rstrip("\r") for piece in pieces), _rules_in(path.parent))
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
            for word, _ in _words(written, WordRules()):
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
        if self._library is not None and _COMMON.fullmatch(text):
            return list(self._library.encode(text, add_special_tokens=False).ids)
        numbers: list[int] = []
        known = self._known
        for written in _WORD.findall(text):
            numbers += (known.get(written) or self._of_word(written))[0]
        return numbers

    def located(self, text: str) -> list[Piece]:
        """The pieces of a text with their positions."""
        if self._library is not None and _COMMON.fullmatch(text):
            found = self._library.encode(text, add_special_tokens=False)
            return [(number, begin, end) for number, (begin, end) in zip(found.ids, found.offsets, strict=True)]
        return [
            (number, match.start() + begin, match.start() + end)
            for match in _WORD.finditer(text)
            for number, begin, end in self._of_word(match[0])[1]
        ]

    def _of_word(self, written: str) -> tuple[tuple[int, ...], tuple[Piece, ...]]:
        known = self._known.get(written)
        if known is None:
            pieces = tuple(piece for word, origins in _words(written, self.rules) for piece in self._cut(word, origins))
            known = tuple(number for number, _, _ in pieces), pieces
            if len(self._known) < MOST_REMEMBERED:
                self._known[written] = known
        return known

    def _cut(self, word: str, origins: list[int]) -> list[Piece]:
        """The longest pieces from the left; one [UNK] for the whole word if a part has no piece."""
        whole = [(self.numbers[UNKNOWN], origins[0], origins[-1] + 1)]
        if len(word) > self.rules.longest_word:
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


def _rules_in(folder: Path) -> WordRules:
    """The rules of the vocabulary in a folder; tokenizer_config.json comes before tokenizer.json, as at its authors."""
    config, tokenizer = (_settings(folder / name) for name in ("tokenizer_config.json", "tokenizer.json"))
    normalizer, model = (tokenizer.get(part) or {} for part in ("normalizer", "model"))
    kinds = (normalizer.get("type", "BertNormalizer"), model.get("type", "WordPiece"))
    prefix = model.get("continuing_subword_prefix", "##")
    refused = [name for name, value in _REFUSED.items() if normalizer.get(name) is value]
    if kinds != ("BertNormalizer", "WordPiece") or prefix != "##" or refused:
        raise InvalidValueError(f"Its tokenizer.json has rules of its own ({', '.join((*kinds, prefix, *refused))}).")
    lower = config.get("do_lower_case", normalizer.get("lowercase", True))
    strip = config.get("strip_accents", normalizer.get("strip_accents"))
    longest = model.get("max_input_chars_per_word", LONGEST_WORD)
    if type(lower) is not bool or type(strip) not in (bool, type(None)) or type(longest) is not int or longest < 1:
        raise InvalidValueError(
            f"Its rules are lower case {lower!r}, strip accents {strip!r} and {longest!r} characters of a word; they "
            "must be true or false, and a number."
        )
    return WordRules(lower, lower if strip is None else strip, longest)


def _settings(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is no such file."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(content(path))
        if isinstance(found, dict) and all(isinstance(found.get(part) or {}, dict) for part in ("normalizer", "model")):
            return found
    except (ValueError, RecursionError):
        pass
    raise InvalidValueError(f"{path.name} beside it is no settings of a tokenizer in JSON.")


def _library_for(numbers: Mapping[str, int], rules: WordRules) -> Any:
    """The package tokenizers with a vocabulary; None if it is not installed."""
    try:
        import tokenizers
    except ImportError:
        return None
    model = tokenizers.models.WordPiece(
        dict(numbers), unk_token=UNKNOWN, max_input_chars_per_word=rules.longest_word, continuing_subword_prefix="##"
    )
    library = tokenizers.Tokenizer(model)
    library.normalizer = tokenizers.normalizers.BertNormalizer(
        lowercase=rules.lower_case, strip_accents=rules.strip_accents
    )
    library.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return library


def tokens_of(offsets: IntArray, begin: int, text: str) -> tuple[int, int] | None:
    """The first and last token of an answer, by their `offsets` (tokens, 2) in the text; None if a part was cut off."""
    end = begin + len(text)
    touched = np.flatnonzero((offsets[:, 0] < end) & (offsets[:, 1] > begin))
    if not len(touched) or offsets[touched[-1], 1] < begin + len(text.rstrip()):
        return None
    return int(touched[0]), int(touched[-1])


def _words(written: str, rules: WordRules) -> Iterator[tuple[str, list[int]]]:
    """The words in a run of characters without spaces: each in normal form, with the position of each character."""
    word, origins = "", list[int]()
    for place, char in enumerate(written):
        plain = unicodedata.normalize("NFD", char) if rules.strip_accents and not char.isascii() else char
        for part in plain.lower() if rules.lower_case else plain:
            if _is_dropped(part) or (rules.strip_accents and unicodedata.category(part) == "Mn"):
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
    return not char.isalnum() and (char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Co"))


def _stands_alone(char: str) -> bool:
    code = ord(char)
    if code < 128:
        return char.isprintable() and not char.isalnum()
    return unicodedata.category(char).startswith("P") or any(low <= code <= high for low, high in _CHINESE)
