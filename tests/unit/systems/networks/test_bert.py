"""BERT: its size by hand calculation, its arithmetic step by step, and that it learns."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.networks.mini_encoder import (  # noqa: E402
    MINI,
    POSITIONS,
    WORDS,
    Tensors,
    encoder_tensors,
)

from flexibo.errors import InvalidValueError  # noqa: E402
from flexibo.systems.networks.bert import BASE, SMALL, EncoderSize, build  # noqa: E402

DESIGN = {"dropout": 0.1}
TINY = EncoderSize(2, 128, 2, 512)


def mini(head: Any = "answer", *, dropout: float = 0.1, **settings: Any) -> Any:
    settings = {"vocabulary": WORDS, "positions": POSITIONS, "size": MINI} | settings
    return build({"dropout": dropout}, head=head, **settings)


def n_parameters(size: EncoderSize, head: Any, *, vocabulary: int, positions: int) -> int:
    with torch.device("meta"):
        model = build(DESIGN, vocabulary=vocabulary, head=head, size=size, positions=positions)
    return sum(weight.numel() for weight in model.parameters())


def count(size: EncoderSize, head: str, vocabulary: int, positions: int) -> int:
    w, f = size.width, size.feed_forward
    embeddings = (vocabulary + positions + 2) * w + 2 * w
    layer = 4 * (w * w + w) + 2 * w + (w * f + f) + (f * w + w) + 2 * w
    pooler = w * w + w if head == "classify" else 0
    return embeddings + size.layers * layer + pooler + 2 * w + 2


@pytest.mark.parametrize("head", ["classify", "answer"])
@pytest.mark.parametrize("size", [TINY, SMALL, BASE, MINI])
def test_parameters_are_as_many_as_by_hand(head: str, size: EncoderSize) -> None:
    for vocabulary, positions in ((30_522, 512), (1000, 64)):
        by_hand = count(size, head, vocabulary, positions)
        assert n_parameters(size, head, vocabulary=vocabulary, positions=positions) == by_hand


def test_the_base_encoder_is_the_published_one_with_two_classes() -> None:
    published = 109_482_240  # bert-base-uncased with its pooler
    assert n_parameters(BASE, "classify", vocabulary=30_522, positions=512) == published + 768 * 2 + 2


def encoded(tensors: Tensors, tokens: Any, mask: Any, segments: Any) -> Any:
    """What an encoder with these weights gives, written out as in the paper, one example and one head at a time."""

    def dense(x: Any, name: str) -> Any:
        return x @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]

    def norm(x: Any, name: str) -> Any:
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / (centred.square().mean(-1, keepdim=True) + 1e-12).sqrt()
        return scaled * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    kinds = ("word", "position", "token_type")
    words, positions, types = (tensors[f"embeddings.{kind}_embeddings.weight"] for kind in kinds)
    outcomes = []
    for i in range(len(tokens)):
        x = norm(words[tokens[i]] + positions[: len(tokens[i])] + types[segments[i]], "embeddings.LayerNorm")
        for n in range(MINI.layers):
            layer = f"encoder.layer.{n}"
            q, k, v = (dense(x, f"{layer}.attention.self.{name}") for name in ("query", "key", "value"))
            heads = []
            for h in range(MINI.heads):
                part = slice(4 * h, 4 * h + 4)
                scores = (q[:, part] @ k[:, part].T / math.sqrt(4)).masked_fill(~mask[i], -math.inf)
                heads.append(scores.softmax(-1) @ v[:, part])
            attended = dense(torch.cat(heads, -1), f"{layer}.attention.output.dense")
            x = norm(x + attended, f"{layer}.attention.output.LayerNorm")
            wide = dense(x, f"{layer}.intermediate.dense")
            gelu = wide * 0.5 * (1 + torch.erf(wide / math.sqrt(2)))
            x = norm(x + dense(gelu, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        outcomes.append(x)
    return torch.stack(outcomes)


def batch() -> tuple[Any, Any, Any]:
    tokens = torch.randint(0, WORDS, (2, 7))
    mask = torch.arange(7) < torch.tensor([[7], [4]])
    return tokens, mask, (torch.arange(7) > 2).long().expand(2, 7)


OURS = {
    "words": ["embeddings.word_embeddings"],
    "positions": ["embeddings.position_embeddings"],
    "segments": ["embeddings.token_type_embeddings"],
    "norm": ["embeddings.LayerNorm"],
    "pooler": ["pooler.dense"],
} | {
    f"layers.{n}.{ours}": [f"encoder.layer.{n}.{name}" for name in names]
    for n in range(MINI.layers)
    for ours, names in {
        "qkv": ["attention.self.query", "attention.self.key", "attention.self.value"],
        "attended": ["attention.output.dense"],
        "attended_norm": ["attention.output.LayerNorm"],
        "widen": ["intermediate.dense"],
        "narrow": ["output.dense"],
        "norm": ["output.LayerNorm"],
    }.items()
}


def filled(head: str, tensors: Tensors) -> Any:
    """A network with these weights, and a head in which small differences show."""
    model = mini(head).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            module, kind = name.rsplit(".", 1)
            if module in OURS:
                weight.copy_(torch.cat([tensors[f"{theirs}.{kind}"] for theirs in OURS[module]]))
    torch.nn.init.normal_(model.head.weight)
    return model


def test_an_encoder_computes_what_the_paper_says() -> None:
    tensors = encoder_tensors()
    tokens, mask, segments = batch()
    expected = encoded(tensors, tokens, mask, segments)

    answer = filled("answer", tensors)
    logits = answer(tokens, mask, segments)
    by_hand = expected @ answer.head.weight.T + answer.head.bias
    assert logits.shape == (2, 7, 2)
    assert torch.allclose(logits[mask], by_hand[mask], atol=1e-4)

    classify = filled("classify", tensors)
    pooled = torch.tanh(expected[:, 0] @ tensors["pooler.dense.weight"].T + tensors["pooler.dense.bias"])
    by_hand = pooled @ classify.head.weight.T + classify.head.bias
    assert torch.allclose(classify(tokens, mask, segments), by_hand, atol=1e-4)


def test_without_segments_all_is_the_first_segment() -> None:
    model = mini().eval()
    tokens, mask, segments = batch()
    assert torch.equal(model(tokens, mask), model(tokens, mask, torch.zeros_like(tokens)))
    assert not torch.equal(model(tokens, mask), model(tokens, mask, segments))


@pytest.mark.parametrize("head", ["classify", "answer"])
def test_padding_does_not_change_the_result(head: str) -> None:
    model = mini(head).eval()
    tokens = torch.randint(0, WORDS, (2, 5))
    alone = model(tokens, torch.ones(2, 5, dtype=torch.bool))
    for filler in (0, 3):
        padded = torch.cat([tokens, torch.full((2, 4), filler)], 1)
        mask = (torch.arange(9) < 5).expand(2, 9)
        found = model(padded, mask)
        assert torch.allclose(found if head == "classify" else found[:, :5], alone, atol=1e-6)
        if head == "answer":
            assert torch.allclose(found.softmax(1)[:, :5], alone.softmax(1), atol=1e-6), "padding takes no part"
            assert (found.softmax(1)[:, 5:] == 0).all()


def test_the_order_of_the_words_matters() -> None:
    model, mask = mini("classify").eval(), torch.ones(1, 3, dtype=torch.bool)
    assert not torch.allclose(model(torch.tensor([[1, 2, 3]]), mask), model(torch.tensor([[1, 3, 2]]), mask), atol=1e-7)


def test_dropout_is_the_design_s_everywhere_and_only_in_training() -> None:
    tokens, mask, _ = batch()
    model = mini(dropout=0.7)
    shares = {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)}
    assert shares == {0.7}
    assert not torch.equal(model(tokens, mask), model(tokens, mask))
    assert torch.equal(model.eval()(tokens, mask), model(tokens, mask))
    steady = mini(dropout=0.0)
    assert torch.equal(steady(tokens, mask), steady(tokens, mask))


def test_attention_itself_is_dropped_in_training() -> None:
    layer = mini(dropout=0.5).layers[0]
    layer.drop.forward = lambda x: x  # type: ignore[method-assign]  # so that only the attention's own is left
    x, mask = torch.randn(1, 6, 12), torch.ones(1, 1, 1, 6, dtype=torch.bool)
    assert not torch.equal(layer(x, mask), layer(x, mask))
    assert torch.equal(layer.eval()(x, mask), layer(x, mask))


@pytest.mark.parametrize("head", ["classify", "answer"])
def test_eight_steps_on_one_batch_lower_the_loss(head: str) -> None:
    model = mini(head, dropout=0.0, size=EncoderSize(2, 32, 2, 64))
    tokens, mask, segments = batch()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(8):
        optimiser.zero_grad()
        logits = model(tokens, mask, segments)
        # Classes 0 and 1, or answers that start at tokens 1 and 2 and end at tokens 1 and 3.
        target = torch.tensor([0, 1]) if head == "classify" else torch.tensor([[1, 1], [2, 3]])
        loss = torch.nn.functional.cross_entropy(logits, target)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    assert all(weight.grad is not None for weight in model.parameters())


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # where the processor has no bfloat16 of its own
@pytest.mark.parametrize("head", ["classify", "answer"])
def test_half_precision_gives_nearly_the_same_logits(head: str) -> None:
    model = mini(head).eval()
    tokens, mask, segments = batch()
    with torch.no_grad():
        expected = model(tokens, mask, segments)
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(tokens, mask, segments)
    assert logits.dtype == torch.bfloat16
    assert torch.isfinite(logits).all()
    seen = slice(None) if head == "classify" else mask
    assert torch.allclose(logits.float()[seen], expected[seen], atol=0.02)


def test_fresh_weights_have_the_original_s_spread_and_follow_the_seed() -> None:
    def model(seed: int) -> Any:
        torch.manual_seed(seed)
        return build(DESIGN, vocabulary=500, head="classify", size=TINY, positions=64)

    for name, weight in model(1).named_parameters():
        if weight.dim() == 2 and weight.numel() > 1000:
            assert 0.018 < weight.std() < 0.022, name
        if name.endswith("bias"):
            assert not weight.any(), name
    first, again, other = (model(seed).words.weight for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_text_longer_than_the_positions_is_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"\b10 tokens.*\b9\b"):
        mini()(torch.zeros(1, 10, dtype=torch.int64), torch.ones(1, 10, dtype=torch.bool))


def test_impossible_networks_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="no option 'dropout'"):
        build({"batch_size": 6}, vocabulary=5, head="answer", size=TINY)
    with pytest.raises(InvalidValueError, match=r"^Option 'dropout' is 1\.0;"):
        build({"dropout": 1.0}, vocabulary=5, head="answer", size=TINY)
