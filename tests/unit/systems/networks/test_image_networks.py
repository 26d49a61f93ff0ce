"""What all networks for images do: fit every design of the option tables, learn, and refuse what is no design."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.networks.image_networks import (  # noqa: E402
    BUILDERS,
    CHANNELS,
    CLASSES,
    images,
    smallest,
    without_dropout,
)

from flexibo.errors import InvalidValueError  # noqa: E402
from flexibo.systems.options import NETWORKS  # noqa: E402

SCALING = ("squeezenet", "resnet", "mobilenet", "xception")
IMAGE_NETWORKS = pytest.mark.parametrize("network", list(BUILDERS))


@IMAGE_NETWORKS
def test_corners_of_the_option_table_fit_images(network: str) -> None:
    # An orthogonal array: every pair of options meets in all four combinations of their smallest and largest values.
    # On the meta device, which computes shapes only: the widest corners have billions of weights.
    options = NETWORKS[network]
    rows = range(8 if len(options) < 8 else 16)
    corners = [[(row & (place + 1)).bit_count() % 2 for place in range(len(options))] for row in rows]
    for is_large in (*corners, [1] * len(options)):
        design = {name: (min, max)[large](options[name]) for name, large in zip(options, is_large, strict=True)}
        with torch.device("meta"), torch.no_grad():
            model = BUILDERS[network](design, channels=CHANNELS, classes=CLASSES).eval()
            assert model(images(2, 28)).shape == (2, CLASSES)


@IMAGE_NETWORKS
def test_the_narrow_corners_of_the_filter_sizes_give_finite_logits(network: str) -> None:
    for corner in (min, max):
        sizes = {name: corner(values) for name, values in NETWORKS[network].items() if "size" in name}
        model = BUILDERS[network](smallest(network, **sizes), channels=3, classes=10)
        with torch.no_grad():
            logits = model(images(2, 12))
        assert logits.shape == (2, 10)
        assert torch.isfinite(logits).all()


@IMAGE_NETWORKS
def test_large_images_and_other_channels_and_classes_fit(network: str) -> None:
    for side, small in ((64, True), (224, False)):
        settings = {"small": small} if network in SCALING else {}
        model = BUILDERS[network](smallest(network), channels=1, classes=7, **settings).eval()
        with torch.no_grad():
            assert model(torch.randn(1, 1, side, side)).shape == (1, 7)


@pytest.mark.parametrize(
    ("network", "small", "large"),
    [("squeezenet", 4, 7), ("resnet", 4, 7), ("mobilenet", 4, 7), ("xception", 2, 7)],
)
def test_small_images_are_shrunk_less_than_large_ones(network: str, small: int, large: int) -> None:
    # 32 pixels are halved as often as the docstrings say, and 224 five times (by SqueezeNet four times).
    for side, is_small, expected in ((32, True, small), (224, False, 14 if network == "squeezenet" else large)):
        seen: list[int] = []
        with torch.device("meta"):
            model = BUILDERS[network](smallest(network), channels=CHANNELS, classes=CLASSES, small=is_small)
            average = next(module for module in model if type(module).__name__ == "GlobalAverage")
            average.register_forward_pre_hook(lambda _, inputs, seen=seen: seen.append(inputs[0].shape[-1]))
            model(images(1, side))
        assert seen == [expected]


@IMAGE_NETWORKS
def test_eight_steps_on_one_batch_lower_the_loss(network: str) -> None:
    wider = network in ("lenet", "squeezenet", "mobilenet")
    design = {name: 64 if wider and "filters" in name else value for name, value in smallest(network).items()}
    model = without_dropout(BUILDERS[network](design, channels=CHANNELS, classes=4))
    x, labels = images(8, 12), torch.arange(8) % 4
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(8):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


@IMAGE_NETWORKS
def test_every_weight_has_a_gradient(network: str) -> None:
    model = BUILDERS[network](smallest(network), channels=CHANNELS, classes=CLASSES)
    model(images(2, 16)).square().sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())


@IMAGE_NETWORKS
def test_the_same_seed_gives_the_same_weights_and_another_gives_others(network: str) -> None:
    def first_weights(seed: int) -> Any:
        torch.manual_seed(seed)
        model = BUILDERS[network](smallest(network), channels=CHANNELS, classes=CLASSES)
        return torch.cat([weight.detach().flatten() for weight in model.parameters()])

    first = first_weights(1)
    assert torch.equal(first, first_weights(1))
    assert not torch.equal(first, first_weights(2))


@IMAGE_NETWORKS
def test_signals_neither_die_nor_explode_on_the_way(network: str) -> None:
    model = BUILDERS[network](
        smallest(network, **{"filters_4": 64} if network == "lenet" else {}), channels=3, classes=9
    )
    with torch.no_grad():
        deviation = model(images(8, 32)).std().item()
    assert 0.02 < deviation < 20


@IMAGE_NETWORKS
def test_channels_last_gives_the_same_logits(network: str) -> None:
    model = BUILDERS[network](smallest(network), channels=CHANNELS, classes=CLASSES).eval()
    x = images(2, 28)
    with torch.no_grad():
        expected = model(x)
        model.to(memory_format=torch.channels_last)
        found = model(x.contiguous(memory_format=torch.channels_last))
    # Sums are taken in another order; what matters is small beside the logits.
    assert float((found - expected).abs().max()) < 1e-3 * float(expected.abs().max())


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # where the processor has no bfloat16 of its own
@IMAGE_NETWORKS
def test_half_precision_gives_nearly_the_same_logits(network: str) -> None:
    # With the batch's own statistics: a fresh network has none of its own yet.
    model = without_dropout(BUILDERS[network](smallest(network), channels=CHANNELS, classes=CLASSES))
    x = images(4, 12)
    with torch.no_grad():
        expected = model(x)
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(x)
    assert logits.dtype == torch.bfloat16
    assert (logits.float() - expected).abs().mean() < 0.6 * expected.abs().mean()


@IMAGE_NETWORKS
def test_a_design_without_an_option_is_refused_by_that_option_s_name(network: str) -> None:
    for name in NETWORKS[network]:
        design = smallest(network)
        del design[name]
        with pytest.raises(InvalidValueError, match=f"no option '{name}'"):
            BUILDERS[network](design, channels=CHANNELS, classes=CLASSES)


@IMAGE_NETWORKS
@pytest.mark.parametrize("value", [0, -16, 16.0, "16", True, None, float("nan")])
def test_an_option_that_is_no_positive_whole_number_is_refused(network: str, value: object) -> None:
    for name in NETWORKS[network]:
        with pytest.raises(InvalidValueError, match=rf"^Option '{name}' is {value!r}; .*\b1 or more"):
            BUILDERS[network](smallest(network) | {name: value}, channels=CHANNELS, classes=CLASSES)


@IMAGE_NETWORKS
def test_an_even_filter_is_refused(network: str) -> None:
    for name in NETWORKS[network]:
        if "size" in name:
            with pytest.raises(InvalidValueError, match=f"^Option '{name}' is 4; .*odd"):
                BUILDERS[network](smallest(network, **{name: 4}), channels=CHANNELS, classes=CLASSES)
