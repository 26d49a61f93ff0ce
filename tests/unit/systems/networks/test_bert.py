"""BERT: its size by hand calculation, its arithmetic step by step, and encoders read from files."""

from __future__ import annotations

import json
import math
import pickle
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from flexibo.errors import InvalidValueError  # noqa: E402
from flexibo.systems.data.base import DamagedDataError, MissingDataError  # noqa: E402
from flexibo.systems.networks.bert import BASE, SMALL, TINY, EncoderSize, build  # noqa: E402
from flexibo.systems.networks.pretrained import load_encoder, size_of  # noqa: E402

DESIGN = {"dropout": 0.1}
MINI = EncoderSize(2, 12, 3, 20)
WORDS, POSITIONS = 17, 9
CONFIG = {
    "model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": 2, "hidden_size": 12, "num_attention_heads": 3,
    "intermediate_size": 20,
}  # fmt: skip
Tensors = dict[str, Any]


@pytest.fixture(autouse=True)
def _one_thread_and_one_seed() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


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


def encoder_tensors() -> Tensors:
    """Weights with the names that Hugging Face gives them."""
    w, f = MINI.width, MINI.feed_forward
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (WORDS, w),
        "embeddings.position_embeddings.weight": (POSITIONS, w),
        "embeddings.token_type_embeddings.weight": (2, w),
    }
    dense = {"pooler.dense": (w, w)}
    norms = ["embeddings.LayerNorm"]
    for i in range(MINI.layers):
        layer = f"encoder.layer.{i}"
        dense |= {f"{layer}.attention.self.{name}": (w, w) for name in ("query", "key", "value")}
        dense |= {f"{layer}.attention.output.dense": (w, w)}
        dense |= {f"{layer}.intermediate.dense": (f, w), f"{layer}.output.dense": (w, f)}
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    for name, (rows, columns) in dense.items():
        shapes |= {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}
    for name in norms:
        shapes |= {f"{name}.weight": (w,), f"{name}.bias": (w,)}
    return {name: torch.randn(shape) for name, shape in shapes.items()}


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


def safetensors(tensors: Tensors, dtype: str = "F32", *, changes: dict[str, Any] | None = None) -> bytes:
    """A file in the format, with changes to its header."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, tensor in tensors.items():
        raw = {
            "F32": lambda t: t.numpy().astype("<f4").tobytes(),
            "F16": lambda t: t.numpy().astype("<f2").tobytes(),
            "BF16": lambda t: b"".join(struct.pack("<f", float(x))[2:] for x in t.flatten()),
        }[dtype](tensor)
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    for name, change in (changes or {}).items():
        header[name] = header[name] | change if isinstance(change, dict) else change
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path


def write(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").write_bytes(content)


def test_a_loaded_encoder_computes_what_the_paper_says(folder: Path) -> None:
    tensors = encoder_tensors()
    write(folder, safetensors(tensors))
    tokens, mask, segments = batch()
    expected = encoded(tensors, tokens, mask, segments)

    answer = mini("answer").eval()
    load_encoder(answer, folder)
    torch.nn.init.normal_(answer.head.weight)  # so that small differences show
    logits = answer(tokens, mask, segments)
    by_hand = expected @ answer.head.weight.T + answer.head.bias
    assert logits.shape == (2, 7, 2)
    assert torch.allclose(logits[mask], by_hand[mask], atol=1e-4)

    classify = mini("classify").eval()
    load_encoder(classify, folder)
    torch.nn.init.normal_(classify.head.weight)
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
    with pytest.raises(InvalidValueError, match=r"^A text has 10 tokens; this encoder has positions for 9.$"):
        mini()(torch.zeros(1, 10, dtype=torch.int64), torch.ones(1, 10, dtype=torch.bool))


def test_impossible_networks_are_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"^The design has no option 'dropout'; give it a value.$"):
        build({"batch_size": 6}, vocabulary=5, head="answer", size=TINY)
    with pytest.raises(InvalidValueError, match=r"^Option 'dropout' is 1.0; it must be a number from 0 to below 1.$"):
        build({"dropout": 1.0}, vocabulary=5, head="answer", size=TINY)
    with pytest.raises(InvalidValueError, match=r"^The head is 'translate'; it must be 'classify' or 'answer'.$"):
        mini("translate")
    with pytest.raises(InvalidValueError, match=r"^The vocabulary is 0; it must be a whole number, 1 or more"):
        mini(vocabulary=0)
    with pytest.raises(InvalidValueError, match=r"^The number of positions is 0; it must be a whole number"):
        mini(positions=0)
    with pytest.raises(InvalidValueError, match=r"^The encoder's width is 12 and it has 5 heads; the width must be"):
        EncoderSize(2, 12, 5, 20)
    with pytest.raises(InvalidValueError, match=r"^The encoder's layers is 0; it must be a whole number, 1 or more"):
        EncoderSize(0, 12, 3, 20)


def test_the_size_is_read_from_the_configuration(folder: Path) -> None:
    assert size_of(folder) == MINI


def rounded(tensors: Tensors, dtype: str) -> Tensors:
    if dtype == "BF16":
        # Cut off, as the test's own writer does.
        return {name: (t.view(torch.int32) & -65536).view(torch.float32) for name, t in tensors.items()}
    return {name: t.half().float() for name, t in tensors.items()} if dtype == "F16" else tensors


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_every_number_format_is_read_exactly(folder: Path, dtype: str) -> None:
    tensors = encoder_tensors()
    write(folder, safetensors(tensors, dtype))
    model = mini()
    load_encoder(model, folder)
    expected = rounded(tensors, dtype)
    layer = "encoder.layer.1.attention"
    query_key_value = [expected[f"{layer}.self.{name}.weight"] for name in ("query", "key", "value")]
    assert torch.equal(model.layers[1].qkv.weight, torch.cat(query_key_value))
    assert torch.equal(model.words.weight, expected["embeddings.word_embeddings.weight"])
    assert torch.equal(model.layers[1].attended.bias, expected[f"{layer}.output.dense.bias"])
    assert torch.equal(model.segments.weight, expected["embeddings.token_type_embeddings.weight"])


def unchanged(model: Any, folder: Path) -> list[str]:
    """The weights that loading an encoder leaves as they were."""
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    load_encoder(model, folder)
    return [name for name, weight in model.named_parameters() if torch.equal(weight, before[name])]


def test_all_weights_but_the_head_are_filled_and_other_tensors_ignored(folder: Path) -> None:
    write(folder, safetensors(encoder_tensors() | {"cls.predictions.bias": torch.zeros(3)}))
    assert unchanged(mini("classify"), folder) == ["head.weight", "head.bias"]
    assert unchanged(mini("answer"), folder) == ["head.weight", "head.bias"]


def test_a_pooler_that_is_not_there_stays_fresh(folder: Path) -> None:
    write(folder, safetensors({name: t for name, t in encoder_tensors().items() if "pooler" not in name}))
    model = mini("classify")
    assert unchanged(model, folder) == ["pooler.weight", "pooler.bias", "head.weight", "head.bias"]


def test_prefixes_and_old_names_and_pickles_are_understood(folder: Path) -> None:
    tensors = encoder_tensors()
    old = {
        f"bert.{name}".replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): t
        for name, t in tensors.items()
    }
    torch.save(old | {"bert.embeddings.position_ids": torch.arange(4)}, folder / "pytorch_model.bin")
    model = mini()
    load_encoder(model, folder)
    assert torch.equal(model.layers[0].norm.weight, tensors["encoder.layer.0.output.LayerNorm.weight"])
    assert torch.equal(model.norm.bias, tensors["embeddings.LayerNorm.bias"])


def test_safetensors_are_taken_before_a_pickle(folder: Path) -> None:
    write(folder, safetensors(encoder_tensors()))
    (folder / "pytorch_model.bin").write_bytes(b"never opened")
    assert unchanged(mini(), folder) == ["head.weight", "head.bias"]


def fails(folder: Path, kind: type[Exception], sentence: str) -> None:
    """Checks that loading fails with one sentence and changes nothing."""
    model = mini("classify")
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    with pytest.raises(kind, match=sentence) as caught:
        load_encoder(model, folder)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())


def test_a_missing_tensor_is_named_and_nothing_is_changed(folder: Path) -> None:
    for name in encoder_tensors():
        if name != "pooler.dense.weight":
            write(folder, safetensors({other: t for other, t in encoder_tensors().items() if other != name}))
            fails(folder, DamagedDataError, f"has no tensor '{name}', which '")


def test_a_tensor_of_another_shape_is_named(folder: Path) -> None:
    name = "encoder.layer.1.output.dense.weight"
    write(folder, safetensors(encoder_tensors() | {name: torch.zeros(20, 12)}))
    fails(folder, DamagedDataError, rf"^Tensor '{name}' of .* has the shape \(20, 12\); the model needs \(12, 20\).$")
    name = "encoder.layer.0.attention.self.key.bias"
    write(folder, safetensors(encoder_tensors() | {name: torch.zeros(13)}))
    fails(folder, DamagedDataError, rf"^Tensor '{name}' of .* has the shape \(13,\); the model needs \(12,\).$")


def test_an_encoder_of_another_size_is_refused(folder: Path) -> None:
    # The number of heads shows in no tensor's shape.
    (folder / "config.json").write_text(json.dumps(CONFIG | {"num_attention_heads": 4}))
    write(folder, safetensors(encoder_tensors()))
    fails(
        folder,
        InvalidValueError,
        r"^The encoder in .* is EncoderSize\(.*heads=4.*\) and the model is EncoderSize",
    )


KEY = "embeddings.LayerNorm.bias"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({KEY: {"data_offsets": [0, 48]}}, r"^Tensors '.*' and '.*' of .* overlap; the file is damaged.$"),
        (
            {KEY: {"data_offsets": [10**12, 10**12 + 48]}},
            rf"^Tensor '{KEY}' of .* lies at bytes \d+ to \d+ of \d+; it is",
        ),
        (
            {KEY: {"data_offsets": [48, 0]}},
            rf"^Tensor '{KEY}' of .* lies at bytes \d+ to \d+ of \d+; it is cut short.$",
        ),
        ({KEY: {"data_offsets": [-48, 0]}}, rf"^Tensor '{KEY}' of .* has no proper dtype, shape and data_offsets.$"),
        ({KEY: {"data_offsets": [0]}}, "has no proper dtype"),
        ({KEY: {"data_offsets": [0.0, 48.0]}}, "has no proper dtype"),
        ({KEY: {"data_offsets": [False, True]}}, "has no proper dtype"),
        ({KEY: {"shape": "12"}}, "has no proper dtype"),
        ({KEY: {"shape": [-12]}}, "has no proper dtype"),
        ({KEY: {"dtype": 32}}, "has no proper dtype"),
        ({KEY: 7}, "has no proper dtype"),
        ({KEY: {"shape": [10**30]}}, rf"^Tensor '{KEY}' of .* has the shape \(10{{30}},\); the model needs \(12,\).$"),
        ({KEY: {"dtype": "F16"}}, rf"^Tensor '{KEY}' of .* has 48 bytes; its shape needs 24.$"),
        ({KEY: {"dtype": "I8"}}, rf"^Tensor '{KEY}' of .* is I8; it must be F32, F16, BF16.$"),
    ],
)
def test_a_header_that_lies_is_refused(folder: Path, changes: dict[str, Any], sentence: str) -> None:
    write(folder, safetensors(encoder_tensors(), changes=changes))
    fails(folder, DamagedDataError, sentence)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", r"has 0 bytes and claims a header of 0; it is cut short or no safetensors file.$"),
        (b"\x01\x02", r"has 2 bytes and claims a header of 513; it is cut short"),
        (struct.pack("<Q", 2**63) + b"{}", rf"has 10 bytes and claims a header of {2**63}; it is cut short"),
        (struct.pack("<Q", 3) + b"{}", r"claims a header of 3; it is cut short"),
        (struct.pack("<Q", 2) + b"{]", r"JSON .*JSONDecodeError"),
        (struct.pack("<Q", 2) + b"\xff\xfe", r"JSON"),
        (struct.pack("<Q", 2) + b"[]", r"a JSON list"),
        (struct.pack("<Q", 200_000) + b"[" * 200_000, r"JSON .*RecursionError"),
    ],
)
def test_a_file_that_is_no_safetensors_file_is_refused(folder: Path, content: bytes, sentence: str) -> None:
    write(folder, content)
    fails(folder, DamagedDataError, sentence)


def test_a_file_cut_short_anywhere_is_refused(folder: Path) -> None:
    whole = safetensors(encoder_tensors())
    for length in (4, 8, 100, len(whole) // 2, len(whole) - 1):
        write(folder, whole[:length])
        fails(folder, DamagedDataError, "cut short")


def test_a_header_longer_than_the_format_allows_is_not_read(folder: Path) -> None:
    # A file with a hole: long, and nothing of it on the disk.
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(struct.pack("<Q", 100_000_001))
        stream.truncate(200_000_000)
    fails(folder, DamagedDataError, "claims a header of 100000001; it is cut short or no safetensors file")


class Mischief:
    """Writes a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.target,)


def test_a_pickle_that_does_more_than_hold_tensors_is_refused(folder: Path) -> None:
    target = folder / "touched"
    file = folder / "pytorch_model.bin"
    torch.save({"mischief": Mischief(target)}, file)
    fails(folder, DamagedDataError, "cannot be read as weights: UnpicklingError")
    assert not target.exists()
    for content in (b"", b"garbage", pickle.dumps([1, 2])):
        file.write_bytes(content)
        fails(folder, DamagedDataError, "cannot be read as weights|must contain tensors by name")
    torch.save([torch.zeros(1)], file)
    fails(folder, DamagedDataError, "contains list; it must contain tensors by name")
    torch.save({"embeddings.word_embeddings.weight": 3}, file)
    fails(folder, DamagedDataError, "has no tensor 'embeddings.word_embeddings.weight'")


def test_missing_files_are_named(folder: Path) -> None:
    fails(folder, MissingDataError, r"^There is neither model.safetensors nor pytorch_model.bin in ")
    with pytest.raises(
        MissingDataError, match=r"^There is no .*nowhere/config.json; give the folder of a BERT encoder"
    ):
        size_of(folder / "nowhere")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model_type": "roberta"}, r"model_type 'roberta'; only 'bert' can be loaded.$"),
        ({"hidden_act": "relu"}, r"hidden_act 'relu'; only 'gelu' can be loaded.$"),
        ({"position_embedding_type": "relative_key"}, r"position_embedding_type 'relative_key'; only 'absolute'"),
        ({"num_attention_heads": 5}, r"describes no encoder: The encoder's width is 12 and it has 5 heads"),
        ({"hidden_size": "12"}, r"describes no encoder: The encoder's width is '12'; it must be a whole number"),
    ],
)
def test_a_configuration_of_something_else_is_refused(folder: Path, changes: dict[str, Any], sentence: str) -> None:
    (folder / "config.json").write_text(json.dumps(CONFIG | changes))
    with pytest.raises(DamagedDataError, match=sentence):
        size_of(folder)


def test_a_damaged_configuration_is_refused(folder: Path) -> None:
    file = folder / "config.json"
    incomplete = {name: value for name, value in CONFIG.items() if name != "intermediate_size"}
    for text, sentence in (
        ("{", "JSON"),
        ("[1]", "a JSON list"),
        (json.dumps(incomplete), r"has no intermediate_size; it must have num_hidden_layers, hidden_size"),
        (" " * 1_000_001, "has 1000001 bytes; a config.json has a few hundred"),
    ):
        file.write_text(text)
        with pytest.raises(DamagedDataError, match=sentence):
            size_of(folder)
