"""Deep Speech: its size by hand calculation, padding that does not matter, and that it learns with CTC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from flexibo.errors import InvalidValueError  # noqa: E402
from flexibo.systems.networks import deepspeech  # noqa: E402
from flexibo.systems.networks.deepspeech import FULL, SMALL, DeepSpeechSize, build  # noqa: E402

FEATURES, LETTERS = 13, 5
TINY = DeepSpeechSize(4, 32, 1)
DESIGN = {"dropout": 0.1}


@pytest.fixture(autouse=True)
def _one_thread_and_one_seed() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


def tiny(*, dropout: float = 0.1, size: DeepSpeechSize = TINY, features: int = FEATURES) -> Any:
    return build({"dropout": dropout}, features=features, letters=LETTERS, size=size)


def n_parameters(size: DeepSpeechSize, features: int, letters: int) -> int:
    with torch.device("meta"):
        model = build(DESIGN, features=features, letters=letters, size=size)
    return sum(weight.numel() for weight in model.parameters())


def count(size: DeepSpeechSize, features: int, letters: int) -> int:
    c, w = size.channels, size.width
    bands_1 = (features + 1) // 2
    bands_2 = (bands_1 + 1) // 2
    convolutions = (11 * 41 * c + c + 2 * c * bands_1) + (11 * 21 * c * c + c + 2 * c * bands_2)

    def recurrent(inputs: int) -> int:
        # Three gates, each with a matrix and a bias for its input and for its state, in two directions.
        return 2 * inputs + 2 * 3 * (inputs * w + w + w * w + w)

    layers = recurrent(c * bands_2) + (size.layers - 1) * recurrent(w)
    return convolutions + layers + 2 * w + w * (letters + 1) + (letters + 1)


@pytest.mark.parametrize("size", [TINY, SMALL, DeepSpeechSize(3, 20, 4), FULL])
@pytest.mark.parametrize(("features", "letters"), [(13, 5), (40, 9), (161, 28)])
def test_parameters_are_as_many_as_by_hand(size: DeepSpeechSize, features: int, letters: int) -> None:
    assert n_parameters(size, features, letters) == count(size, features, letters)


def test_the_full_network_is_the_paper_s_in_layers_and_parameters() -> None:
    assert len(deepspeech.FREQUENCY_FILTERS) + FULL.layers == 9
    assert round(n_parameters(FULL, 161, 28) / 1e6) == 68


@pytest.mark.parametrize("field", ["channels", "width", "layers"])
def test_more_of_anything_is_more_parameters(field: str) -> None:
    larger = replace(TINY, **{field: 2 * getattr(TINY, field)})
    assert n_parameters(larger, FEATURES, LETTERS) > n_parameters(TINY, FEATURES, LETTERS)


@pytest.mark.parametrize("time", [1, 2, 15, 16])
def test_the_outcome_has_half_the_frames_and_is_a_distribution_over_letters_and_blank(time: int) -> None:
    scores, lengths = tiny()(torch.randn(2, time, FEATURES), torch.tensor([time, max(1, time - 1)]))
    half = (time + 1) // 2
    assert scores.shape == (2, half, LETTERS + 1)
    assert lengths.tolist() == [half, max(1, time // 2)]
    assert torch.allclose(scores.exp().sum(-1), torch.ones(2, half), atol=1e-5)


@pytest.mark.parametrize("length", [1, 4, 9])
def test_padding_never_leaks_into_a_shorter_example(length: int) -> None:
    model = tiny(size=DeepSpeechSize(4, 16, 2)).eval()
    short = torch.randn(1, length, FEATURES)
    for padding in (
        torch.zeros(1, 12, FEATURES),
        100 * torch.randn(1, 12, FEATURES),
        torch.full((1, 12, FEATURES), torch.nan),
    ):
        batch = torch.cat([torch.cat([short, padding], 1), torch.randn(1, length + 12, FEATURES)])
        scores, lengths = model(batch, torch.tensor([length, length + 12]))
        alone, alone_length = model(short, torch.tensor([length]))
        assert lengths[0] == alone_length[0]
        assert torch.allclose(scores[:1, : lengths[0]], alone, atol=1e-5)


def test_padding_never_leaks_into_what_is_learned() -> None:
    short, other = torch.randn(1, 6, FEATURES), torch.randn(1, 14, FEATURES)
    gradients = []
    for padding in (torch.zeros(1, 8, FEATURES), 100 * torch.randn(1, 8, FEATURES)):
        torch.manual_seed(1)
        model = tiny(dropout=0.0)
        scores, lengths = model(torch.cat([torch.cat([short, padding], 1), other]), torch.tensor([6, 14]))
        sum(scores[i, : lengths[i], 1].sum() for i in (0, 1)).backward()
        gradients.append(torch.cat([weight.grad.flatten() for weight in model.parameters()]))
    assert torch.allclose(*gradients, atol=1e-5)


def test_every_frame_of_the_example_itself_matters_to_its_outcome() -> None:
    model = tiny().eval()
    x = torch.randn(1, 40, FEATURES)
    first = model(x, torch.tensor([40]))[0]
    for frame in (0, 39):
        changed = x.clone()
        changed[0, frame] += 5
        difference = (model(changed, torch.tensor([40]))[0] - first).abs().amax(-1)[0]
        assert (difference > 0).all(), "both directions carry it through the whole example"


def test_a_recurrent_layer_is_the_sum_of_the_two_directions_of_a_packed_gru() -> None:
    layer = deepspeech.Recurrent(6, 5)
    reference = torch.nn.GRU(6, 5, batch_first=True, bidirectional=True)
    for ending, part in (("", layer.ahead), ("_reverse", layer.back)):
        for name, weight in part.named_parameters():
            getattr(reference, name + ending).data.copy_(weight.data)
    x, lengths = torch.randn(3, 7, 6), torch.tensor([7, 4, 1])
    packed = torch.nn.utils.rnn.pack_padded_sequence(layer.norm(x), lengths, batch_first=True)
    both, _ = torch.nn.utils.rnn.pad_packed_sequence(reference(packed)[0], batch_first=True)
    expected = both[..., :5] + both[..., 5:]
    found = layer(x, deepspeech._reversal(lengths, 7))
    for i, length in enumerate(lengths):
        assert torch.allclose(found[i, :length], expected[i, :length], atol=1e-6)


def test_lengths_beyond_the_spectrogram_count_as_its_own_length() -> None:
    model, x = tiny().eval(), torch.randn(1, 10, FEATURES)
    scores, lengths = model(x, torch.tensor([99]))
    assert lengths.tolist() == [5]
    assert torch.equal(scores, model(x, torch.tensor([10]))[0])


def test_activations_are_clipped() -> None:
    layer = deepspeech.Spectral(1, 2, FEATURES, frequency_filter=41, time_stride=2)
    torch.nn.init.constant_(layer.norm.bias, 50.0)
    x, _ = layer(torch.randn(1, 1, 8, FEATURES), torch.tensor([8]))
    assert x.max() == 20
    torch.nn.init.constant_(layer.norm.bias, -50.0)
    x, _ = layer(torch.randn(1, 1, 8, FEATURES), torch.tensor([8]))
    assert x.max() == 0


def test_dropout_is_the_design_s_and_only_in_training() -> None:
    x, lengths = torch.randn(2, 12, FEATURES), torch.tensor([12, 9])
    model = tiny(dropout=0.5)
    assert not torch.equal(model(x, lengths)[0], model(x, lengths)[0])
    assert torch.equal(model.eval()(x, lengths)[0], model(x, lengths)[0])
    steady = tiny(dropout=0.0)
    assert torch.equal(steady(x, lengths)[0], steady(x, lengths)[0])
    assert [module.p for module in tiny(dropout=0.7).modules() if isinstance(module, torch.nn.Dropout)] == [0.7]


def test_dropout_follows_the_convolutions_and_every_recurrent_layer() -> None:
    model = tiny(size=DeepSpeechSize(4, 16, 3))
    widths: list[int] = []
    model.drop.register_forward_hook(lambda _, __, output: widths.append(output.shape[-1]))
    model(torch.randn(1, 8, FEATURES), torch.tensor([8]))
    assert widths == [4 * 4, 16, 16, 16]  # 13 frequencies, halved twice, are 4


def test_eight_steps_of_ctc_on_one_batch_lower_the_loss() -> None:
    model = tiny(dropout=0.0, size=DeepSpeechSize(4, 32, 2))
    x, lengths = torch.randn(4, 24, FEATURES), torch.tensor([24, 20, 16, 12])
    words, n_letters = torch.randint(1, LETTERS + 1, (4, 4)), torch.tensor([4, 3, 2, 1])
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(8):
        optimiser.zero_grad()
        scores, frames = model(x, lengths)
        loss = torch.nn.functional.ctc_loss(scores.transpose(0, 1), words, frames, n_letters, blank=0)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    assert all(weight.grad is not None for weight in model.parameters())


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # where the processor has no bfloat16 of its own
def test_half_precision_gives_nearly_the_same_probabilities_in_single_precision() -> None:
    model, x = tiny().eval(), torch.randn(2, 12, FEATURES)
    with torch.no_grad():
        expected, _ = model(x, torch.tensor([12, 9]))
        with torch.autocast("cpu", torch.bfloat16):
            scores, _ = model(x, torch.tensor([12, 9]))
    assert scores.dtype == torch.float32
    assert torch.allclose(scores.exp(), expected.exp(), atol=0.05)
    assert not torch.equal(scores, expected)


def test_the_same_seed_gives_the_same_weights() -> None:
    def weights(seed: int) -> Any:
        torch.manual_seed(seed)
        return torch.cat([weight.detach().flatten() for weight in tiny().parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_a_design_without_dropout_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="no option 'dropout'"):
        build({"epochs": 2}, features=FEATURES, letters=LETTERS, size=TINY)


@pytest.mark.parametrize("value", [-0.1, 1, 1.5, "0.1", True, None, float("nan")])
def test_a_dropout_that_is_no_share_is_refused(value: object) -> None:
    with pytest.raises(InvalidValueError, match=f"^Option 'dropout' is {value!r};"):
        build({"dropout": value}, features=FEATURES, letters=LETTERS, size=TINY)
