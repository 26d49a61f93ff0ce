"""Pretrained encoders: every number is read exactly, and every kind of damage is refused in one sentence."""

from __future__ import annotations

import json
import pickle
import struct
from pathlib import Path
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
from flexibo.systems.data.base import DamagedDataError, MissingDataError  # noqa: E402
from flexibo.systems.networks.bert import build  # noqa: E402
from flexibo.systems.networks.pretrained import load_encoder, size_of, vocabulary_file  # noqa: E402

DESIGN = {"dropout": 0.1}
CONFIG = {
    "model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": 2, "hidden_size": 12, "num_attention_heads": 3,
    "intermediate_size": 20,
}  # fmt: skip


def mini(head: Any = "answer") -> Any:
    return build(DESIGN, head=head, vocabulary=WORDS, positions=POSITIONS, size=MINI)


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
    with pytest.raises(MissingDataError, match=r"nowhere/config.json; .* a BERT encoder"):
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


def test_the_vocabulary_is_a_text_or_a_tokenizer(folder: Path) -> None:
    with pytest.raises(MissingDataError, match=r"neither vocab.txt nor tokenizer.json in "):
        vocabulary_file(folder)
    (folder / "tokenizer.json").touch()
    assert vocabulary_file(folder).name == "tokenizer.json"
    (folder / "vocab.txt").touch()
    assert vocabulary_file(folder).name == "vocab.txt"
