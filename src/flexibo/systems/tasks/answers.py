"""Question answering on SQuAD: the task of BERT with a head that finds an answer in a text, if there is one.

The input is [CLS] question [SEP] window of the text [SEP], `sequence_length` tokens in all; the question gets at most
half of them. Each epoch uses each question once, in a random window: in half of the cases one that contains the answer,
otherwise any window. If the window has no answer, both logits should point at [CLS].

A held-out text is read in windows that overlap by half. The answer is the best span of all windows, unless [CLS] scores
at least as high in every window. If all training questions have an answer, so have the others: then the best span is
the answer whatever [CLS] scores, as in SQuAD 1.1. The error is 100 - F1 as defined by SQuAD's authors (Rajpurkar et al.
2018): the words that prediction and answer share, in lower case, without punctuation and articles; the best over all
correct answers. "No answer" is the empty text.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from flexibo._internal.arrays import IntArray
from flexibo.errors import InvalidValueError
from flexibo.systems.data.base import Dataset, Questions
from flexibo.systems.data.tokens import PAD, SEPARATOR, START, WordPieces, tokens_of
from flexibo.systems.tasks import base
from flexibo.systems.tasks.base import Batch, Design, Device
from flexibo.systems.tasks.text import TextTask, padded

MOST_QUESTION = 64
MOST_ANSWER = 30
N_SPECIAL = 3
SHORTEST = 5
SHARE_WITH_ANSWER = 0.5
N_AT_ONCE = 256
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class _Encoded:
    """Questions and texts as numbers: m questions, the t pieces of all texts one after the other.

    The first and the last piece of an answer are counted from the beginning of its text; -1 if there is no answer.
    """

    questions: Tensor  # the first pieces of each question, padded, (m, most)
    n_asked: Tensor  # their numbers, (m,)
    pieces: Tensor  # (t,)
    begins: Tensor  # where the text of each question begins among the pieces, (m,)
    counts: Tensor  # the number of its pieces, (m,)
    first: Tensor  # (m,)
    last: Tensor  # (m,)
    offsets: IntArray  # where each piece begins and ends in its text, in characters, (t, 2)


@dataclass(frozen=True, slots=True)
class _Windows:
    """The network's inputs, (b, L); where the text begins in each window, (b,), and which tokens are text, (b, L)."""

    tokens: Tensor
    mask: Tensor
    segments: Tensor
    begins: Tensor
    is_text: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class AnswerTask(TextTask):
    """Where in a text the answer to a question is."""

    kind = "answers"
    head = "answer"

    data: Dataset[Questions]

    def _texts(self) -> Iterable[str]:
        questions = self.data.train.questions
        return [*dict.fromkeys(one.context for one in questions), *(one.question for one in questions)]

    @property
    def chance_percent(self) -> float:
        """The error of the best answer that needs no question: none, the usual one, or the first sentence."""
        questions = self.data.test.questions
        usual = Counter(text for one in self.data.train.questions for _, text in one.answers).most_common(1)
        blind = [[""] * len(questions), [one.context.partition(". ")[0] for one in questions]]
        blind += [[text] * len(questions) for text, _ in usual]
        return min(_error_percent(predictions, self.data.test) for predictions in blind)

    @property
    def may_be_unanswered(self) -> bool:
        """Whether a question may have no answer, as in SQuAD 2.0; not if all training questions have one."""
        return not all(one.answers for one in self.data.train.questions)

    def batches(self, design: Design, generator: torch.Generator, device: Device) -> Iterator[Batch]:
        """One epoch of tokens, masks and segments (b, L), and the tokens where answers start and end (b,)."""
        encoded = self._kept("train", device)
        length = _length(design)
        for chosen in base.shuffled(len(encoded.counts), int(design["batch_size"]), generator):
            drawn = torch.rand((2, len(chosen)), generator=generator).to(encoded.counts.device)
            chosen = chosen.to(encoded.counts.device)
            starts = _drawn_starts(encoded, chosen, length, drawn)
            windows = self._windows(encoded, chosen, starts, length)
            first, last = encoded.first[chosen] - starts, encoded.last[chosen] - starts
            is_inside = (first >= 0) & (last < _room(encoded, chosen, length))  # without an answer, first is negative
            spans = [torch.where(is_inside, windows.begins + place, 0) for place in (first, last)]
            yield (windows.tokens, windows.mask, windows.segments, *spans)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The mean cross entropy of where the answer starts and where it ends."""
        tokens, mask, segments, first, last = batch
        with base.autocast(tokens.device):
            logits = model(tokens, mask, segments)
        starts, ends = logits.float().unbind(dim=2)
        return (functional.cross_entropy(starts, first) + functional.cross_entropy(ends, last)) / 2

    def error_percent(self, model: nn.Module, design: Design, device: Device) -> float:
        """100 - F1 on the held-out questions."""
        return _error_percent(self.predictions(model, design, device), self.data.test)

    def inputs(self, design: Design, count: int, device: Device) -> tuple[Tensor, ...]:
        """Held-out tokens, masks and segments, (count, sequence_length): the first window of each question."""
        few = self.data.test.first(count)
        encoded = base.remembered(self._memory, f"first {count}", device, lambda: _encoded(self.words, few, device))
        chosen = base.cycled(torch.arange(len(encoded.counts), device=encoded.counts.device), count)
        windows = self._windows(encoded, chosen, torch.zeros_like(chosen), _length(design))
        return windows.tokens, windows.mask, windows.segments

    def predictions(self, model: nn.Module, design: Design, device: Device) -> list[str]:
        """The network's answer to each held-out question; "" if it finds none."""
        encoded = self._kept("test", device)
        length = _length(design)
        chosen, starts = _all_windows(encoded, length)
        parts = []
        with base.evaluating(model):
            for some, begin in zip(chosen.split(N_AT_ONCE), starts.split(N_AT_ONCE), strict=True):
                windows = self._windows(encoded, some, begin, length)
                logits = model(windows.tokens, windows.mask, windows.segments).float()
                base.check_finite(logits)
                score, first, last = _best_spans(logits, windows.is_text)
                shift = encoded.begins[some] + begin - windows.begins
                columns = (score, logits[:, 0].sum(dim=1), first + shift, last + shift)
                parts.append(torch.stack([column.double() for column in columns]).cpu())
        scores, nulls, firsts, lasts = torch.cat(parts, dim=1).numpy()
        answers, is_open = [], self.may_be_unanswered
        of_window = chosen.cpu().numpy()
        bounds = np.searchsorted(of_window, np.arange(len(self.data.test) + 1))
        for one, low, high in zip(self.data.test.questions, bounds[:-1], bounds[1:], strict=True):
            best = low + int(np.argmax(scores[low:high]))
            if is_open and scores[best] <= nulls[low:high].min():
                answers.append("")
                continue
            place = encoded.offsets[int(firsts[best])][0], encoded.offsets[int(lasts[best])][1]
            answers.append(one.context[place[0] : place[1]])
        return answers

    def _windows(self, encoded: _Encoded, chosen: Tensor, starts: Tensor, length: int) -> _Windows:
        """The inputs for some questions, with their texts from the piece `starts` on."""
        numbers = self.words.numbers
        n_asked = _n_asked(encoded, chosen, length)
        begins = n_asked + 2
        n_told = torch.minimum(encoded.counts[chosen] - starts, length - 1 - begins)
        place = torch.arange(length, device=chosen.device)[None]
        ends = (begins + n_told)[:, None]
        is_text = (place >= begins[:, None]) & (place < ends)
        asked = encoded.questions[chosen[:, None], (place - 1).clamp(0, encoded.questions.shape[1] - 1)]
        at = (encoded.begins[chosen] + starts - begins)[:, None] + place
        told = encoded.pieces[at.clamp(0, max(len(encoded.pieces) - 1, 0))]
        tokens = torch.where(is_text, told, torch.where(place <= n_asked[:, None], asked, numbers[PAD]))
        tokens = torch.where(place == 0, numbers[START], tokens)
        tokens = torch.where((place == begins[:, None] - 1) | (place == ends), numbers[SEPARATOR], tokens)
        mask = place <= ends
        segments = (mask & (place >= begins[:, None])).long()
        return _Windows(tokens, mask, segments, begins, is_text)

    def _kept(self, part: str, device: Device) -> _Encoded:
        return base.remembered(
            self._memory, part, device, lambda: _encoded(self.words, getattr(self.data, part), device)
        )


def _encoded(words: WordPieces, part: Questions, device: Device) -> _Encoded:
    begins: dict[str, int] = {}
    pieces: list[int] = []
    places: list[tuple[int, int]] = []
    offsets: dict[str, IntArray] = {}
    for one in part.questions:
        if one.context not in begins:
            located = words.located(one.context)
            begins[one.context] = len(pieces)
            pieces += [number for number, _, _ in located]
            places += [(begin, end) for _, begin, end in located]
            offsets[one.context] = np.array([place for _, *place in located], dtype=np.int64).reshape(-1, 2)
    asked = [words.encode(one.question)[:MOST_QUESTION] for one in part.questions]
    spans = [
        (tokens_of(offsets[one.context], *one.answers[0]) if one.answers else None) or (-1, -1)
        for one in part.questions
    ]
    whole = partial(torch.tensor, dtype=torch.int64, device=device)
    return _Encoded(
        questions=whole(padded(asked, words.numbers[PAD])),
        n_asked=whole([len(line) for line in asked]),
        pieces=whole(pieces or [words.numbers[PAD]]),
        begins=whole([begins[one.context] for one in part.questions]),
        counts=whole([len(offsets[one.context]) for one in part.questions]),
        first=whole([first for first, _ in spans]),
        last=whole([last for _, last in spans]),
        offsets=np.array(places, dtype=np.int64).reshape(-1, 2),
    )


def _length(design: Design) -> int:
    length = int(design["sequence_length"])
    if length < SHORTEST:
        raise InvalidValueError(
            f"Option 'sequence_length' is {length}; a question and a text need at least {SHORTEST}."
        )
    return length


def _n_asked(encoded: _Encoded, chosen: Tensor, length: int) -> Tensor:
    return encoded.n_asked[chosen].clamp(max=(length - N_SPECIAL) // 2)


def _room(encoded: _Encoded, chosen: Tensor, length: int) -> Tensor:
    """The number of pieces of the text that fit into a window."""
    return length - N_SPECIAL - _n_asked(encoded, chosen, length)


def _drawn_starts(encoded: _Encoded, chosen: Tensor, length: int, drawn: Tensor) -> Tensor:
    """Where in the text the window of each question begins, from two random numbers in [0, 1) each, (2, b)."""
    room = _room(encoded, chosen, length)
    first, last = encoded.first[chosen], encoded.last[chosen]
    furthest = (encoded.counts[chosen] - room).clamp(min=0)
    with_answer = (drawn[0] < SHARE_WITH_ANSWER) & (first >= 0) & (last - first < room)
    low = torch.where(with_answer, (last - room + 1).clamp(min=0), 0)
    high = torch.where(with_answer, torch.minimum(first, furthest), furthest)
    return low + (drawn[1] * (high - low + 1)).long()


def _all_windows(encoded: _Encoded, length: int) -> tuple[Tensor, Tensor]:
    """For each window of all texts its question, in order, and where in the text it begins."""
    everyone = torch.arange(len(encoded.counts), device=encoded.counts.device)
    room = _room(encoded, everyone, length)
    stride = (room // 2).clamp(min=1)
    furthest = (encoded.counts - room).clamp(min=0)
    n_windows = 1 + (furthest + stride - 1) // stride
    chosen = everyone.repeat_interleave(n_windows)
    before = (n_windows.cumsum(0) - n_windows)[chosen]
    starts = (torch.arange(len(chosen), device=chosen.device) - before) * stride[chosen]
    return chosen, torch.minimum(starts, furthest[chosen])


def _best_spans(logits: Tensor, is_text: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The highest sum of a start's and an end's logit over spans of the text, the start and the end, (b,) each."""
    length = logits.shape[1]
    starts, ends = logits.masked_fill(~is_text[:, :, None], -torch.inf).unbind(dim=2)
    allowed = torch.ones((length, length), dtype=torch.bool, device=logits.device).triu().tril(MOST_ANSWER - 1)
    sums = (starts[:, :, None] + ends[:, None, :]).masked_fill(~allowed, -torch.inf)
    score, at = sums.flatten(1).max(dim=1)
    return score, at // length, at % length


def _error_percent(predictions: Sequence[str], part: Questions) -> float:
    """100 - F1 of the answers to some questions."""
    asked = zip(predictions, part.questions, strict=True)
    shares = [f1_share(prediction, [text for _, text in one.answers]) for prediction, one in asked]
    return 100 * (1 - sum(shares) / len(shares))


def normal_answer(text: str) -> str:
    """A text in lower case, without punctuation, articles and extra spaces.

    >>> normal_answer("The  Battle, of a Hill!")
    'battle of hill'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def f1_share(prediction: str, answers: Sequence[str]) -> float:
    """The F1 of a prediction ("": no answer) with the closest of the correct answers, from 0 to 1.

    >>> f1_share("the green hill", ["a hill", "hills"])
    0.6666666666666666
    """
    right = [answer for answer in answers if normal_answer(answer)] or [""]
    return max(_f1(normal_answer(prediction).split(), normal_answer(answer).split()) for answer in right)


def _f1(given: list[str], right: list[str]) -> float:
    if not given or not right:
        return float(given == right)
    n_shared = (Counter(given) & Counter(right)).total()
    return 2 * n_shared / (len(given) + len(right))
