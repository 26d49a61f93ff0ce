"""The networks for images: their sizes by hand calculation, every design of the option tables, and that they learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from flexibo.errors import InvalidValueError  # noqa: E402
from flexibo.systems.networks import lenet, mobilenet, resnet, squeezenet, xception  # noqa: E402
from flexibo.systems.networks.layers import GlobalAverage, convolution  # noqa: E402
from flexibo.systems.options import NETWORKS  # noqa: E402

BUILDERS: dict[str, Callable[..., Any]] = {
    "lenet": lenet.build,
    "squeezenet": squeezenet.build,
    "resnet": resnet.build,
    "mobilenet": mobilenet.build,
    "xception": xception.build,
}
SCALING = ("squeezenet", "resnet", "mobilenet", "xception")
IMAGE_NETWORKS = pytest.mark.parametrize("network", list(BUILDERS))
CHANNELS, CLASSES = 3, 10
ORIGINALS = {
    "resnet": (64, 64, 3, 64, 3),
    "mobilenet": (32, 3, 128, 256, 512, 1024),
    "xception": (32, 3, 728, 3, 3),
}


@pytest.fixture(autouse=True)
def _one_thread_and_one_seed() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


def smallest(network: str, **changes: int) -> dict[str, Any]:
    """The design with the smallest value of each option, but 3 x 3 filters, with some changes."""
    design = {name: 3 if "size" in name else min(values) for name, values in NETWORKS[network].items()}
    return design | changes


def n_parameters(network: str, design: dict[str, Any], **settings: Any) -> int:
    with torch.device("meta"):
        model = BUILDERS[network](design, **({"channels": CHANNELS, "classes": CLASSES} | settings))
    return sum(weight.numel() for weight in model.parameters())


def images(count: int, side: int) -> Any:
    return torch.randn(count, CHANNELS, side, side)


def dense(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def normed(size: int, inputs: int, outputs: int) -> int:
    """A convolution without bias and the two numbers per channel of batch normalisation."""
    return size**2 * inputs * outputs + 2 * outputs


def lenet_count(design: dict[str, int]) -> int:
    f, k = ([design[f"{what}_{layer}"] for layer in (1, 2, 3, 4)] for what in ("filters", "filter_size"))
    convolutions = (
        k[0] ** 2 * CHANNELS * f[0] + f[0]
        + k[1] ** 2 * f[0] * f[1] + f[1]
        + k[2] ** 2 * f[1] * f[2] + f[2]
        + k[3] ** 2 * f[2] * f[3] + f[3]
    )  # fmt: skip
    return convolutions + dense(f[3], 84) + dense(84, CLASSES)


def fire(inputs: int, f: int) -> int:
    squeeze = f // 4
    return normed(1, inputs, squeeze) + normed(1, squeeze, f) + normed(3, squeeze, f)


def squeezenet_count(design: dict[str, int]) -> int:
    stem, size = design["filters_stem"], design["filter_size_stem"]
    a, b, c = design["filters_fire_1"], design["filters_fire_2"], design["filters_fire_block"]
    group_1 = fire(stem, a) + 2 * fire(2 * a, a)
    group_2 = fire(2 * a, b) + 3 * fire(2 * b, b)
    return normed(size, CHANNELS, stem) + group_1 + group_2 + fire(2 * b, c) + dense(2 * c, CLASSES)


def resnet_count(design: dict[str, int], *, stem_size: int = 3, classes: int = CLASSES) -> int:
    stem, p, b = (design[f"filters_{what}"] for what in ("stem", "projection", "bottleneck"))
    kp, kb = design["filter_size_projection"], design["filter_size_bottleneck"]
    total, inputs = normed(stem_size, CHANNELS, stem), stem
    for identities, scale in ((2, 1), (3, 2), (5, 4), (2, 8)):
        outputs = 4 * scale * p
        main = normed(1, inputs, scale * p) + normed(kp, scale * p, scale * p) + normed(1, scale * p, outputs)
        identity = normed(1, outputs, scale * b) + normed(kb, scale * b, scale * b) + normed(1, scale * b, outputs)
        total += main + normed(1, inputs, outputs) + identities * identity
        inputs = outputs
    return total + dense(32 * p, classes)


def mobilenet_count(design: dict[str, int], *, classes: int = CLASSES) -> int:
    stem, size = design["filters_stem"], design["filter_size_stem"]
    a, b, c, d = (design[f"filters_block_{group}"] for group in (1, 2, 3, 4))
    widths = [stem, a // 2, a, a, b, b, c, c, c, c, c, c, d, d]
    blocks = sum(9 * i + 2 * i + normed(1, i, o) for i, o in pairwise(widths))
    return normed(size, CHANNELS, stem) + blocks + dense(d, classes)


def xception_count(design: dict[str, int], *, classes: int = CLASSES) -> int:
    e, m = design["filters_entry"], design["filters_middle"]
    ke, km, kx = (design[f"filter_size_{flow}"] for flow in ("entry", "middle", "exit"))

    def separable(k: int, i: int, o: int) -> int:
        return k**2 * i + normed(1, i, o)

    entry = normed(ke, CHANNELS, e) + normed(ke, e, 2 * e)
    for i, o in ((2 * e, 4 * e), (4 * e, 8 * e), (8 * e, m)):
        entry += separable(ke, i, o) + separable(ke, o, o) + normed(1, i, o)
    middle = 8 * 3 * separable(km, m, m)
    last = separable(kx, m, m) + separable(kx, m, 1024) + normed(1, m, 1024)
    last += separable(kx, 1024, 1536) + separable(kx, 1536, 2048)
    return entry + middle + last + dense(2048, classes)


COUNTS = {
    "lenet": lenet_count,
    "squeezenet": squeezenet_count,
    "resnet": resnet_count,
    "mobilenet": mobilenet_count,
    "xception": xception_count,
}


@IMAGE_NETWORKS
def test_parameters_are_as_many_as_by_hand_in_the_smallest_and_in_an_uneven_design(network: str) -> None:
    options = NETWORKS[network]
    uneven = {name: values[(2 + place) % len(values)] for place, (name, values) in enumerate(options.items())}
    for design in (smallest(network), uneven):
        assert n_parameters(network, design) == COUNTS[network](design)


@IMAGE_NETWORKS
def test_each_option_adds_as_many_parameters_as_by_hand(network: str) -> None:
    base = smallest(network)
    n_base = n_parameters(network, base)
    for name, values in NETWORKS[network].items():
        design = base | {name: values[-1] if values[-1] > base[name] else values[0]}
        count = n_parameters(network, design)
        assert count == COUNTS[network](design)
        assert (count > n_base) == (design[name] > base[name]), f"{name} must add parameters"
        assert count != n_base


@pytest.mark.parametrize(
    ("network", "published"),
    # As torchvision says of ResNet-50 and Keras of the others, which count 21,888 and 54,528 that do not learn.
    [("resnet", 25_557_032), ("mobilenet", 4_253_864 - 21_888), ("xception", 22_910_480 - 54_528)],
)
def test_the_original_is_a_design_with_its_published_parameters(network: str, published: int) -> None:
    design = dict(zip(NETWORKS[network], ORIGINALS[network], strict=True))
    by_hand = COUNTS[network](design, classes=1000, **({"stem_size": 7} if network == "resnet" else {}))
    assert n_parameters(network, design, classes=1000, small=False) == by_hand == published


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


def test_lenet_halves_the_image_after_each_of_its_first_three_layers() -> None:
    seen: list[tuple[int, int]] = []
    model = lenet.build(smallest("lenet", filters_2=32, filters_4=64), channels=CHANNELS, classes=CLASSES)
    for module in model:
        if isinstance(module, torch.nn.Conv2d):
            module.register_forward_hook(lambda _, __, output: seen.append((output.shape[1], output.shape[2])))
    model(images(1, 28))
    assert seen == [(16, 28), (32, 14), (16, 7), (64, 4)]


def test_a_fire_module_puts_its_1x1_channels_before_its_3x3_channels_and_rectifies_both() -> None:
    module = squeezenet.Fire(5, 8).eval()
    x = torch.randn(1, 5, 6, 6)
    squeezed = module.squeeze(x)
    fresh = 1 / (1 + module.normalise.eps) ** 0.5  # what a normalisation that has seen nothing multiplies by
    expected = fresh * torch.cat([module.expand_1(squeezed), module.expand_3(squeezed)], 1).clamp(min=0)
    assert squeezed.shape[1] == 2
    assert (squeezed >= 0).all()
    assert torch.allclose(module(x), expected)
    assert (module(x) == 0).any()


@pytest.mark.parametrize("seed", range(4))
def test_a_squeezenet_as_narrow_as_can_be_is_not_dead_from_the_start(seed: int) -> None:
    # One filter in every squeeze layer: nothing goes round it, and without normalisation most such networks are mute.
    torch.manual_seed(seed)
    design = {name: 3 if "size" in name else 4 for name in NETWORKS["squeezenet"]}
    model = without_dropout(squeezenet.build(design, channels=CHANNELS, classes=CLASSES))
    outputs = model(images(16, 16))
    assert (outputs.std(0) > 0.01).any()
    outputs.square().sum().backward()
    assert model[0][0].weight.grad.abs().max() > 0


def test_the_head_sees_the_average_of_each_channel() -> None:
    x = torch.arange(24.0).reshape(1, 2, 3, 4)
    assert GlobalAverage()(x).tolist() == [[sum(range(12)) / 12, sum(range(12, 24)) / 12]]


def test_a_convolution_is_normalised_and_then_rectified_if_asked() -> None:
    x = torch.randn(4, 3, 6, 6)
    plain, rectified = convolution(3, 5, 3, activate=False), convolution(3, 5, 3)
    rectified.load_state_dict(plain.state_dict())
    filtered = torch.nn.functional.conv2d(x, plain[0].weight, padding=1)
    mean, variance = filtered.mean((0, 2, 3), keepdim=True), filtered.var((0, 2, 3), keepdim=True, unbiased=False)
    expected = (filtered - mean) / (variance + 1e-5).sqrt()
    assert torch.allclose(plain(x), expected, atol=1e-5)
    assert torch.allclose(rectified(x), expected.clamp(min=0), atol=1e-5)


def test_a_block_without_residual_is_its_shortcut() -> None:
    x = torch.randn(2, 8, 6, 6)
    plain = resnet.ResidualBlock(8, 4, 8, 3, project=False).eval()
    torch.nn.init.zeros_(plain.residual[-1][1].weight)
    assert torch.equal(plain(x), x.relu())
    projecting = resnet.ResidualBlock(8, 4, 16, 3, stride=2, project=True).eval()
    torch.nn.init.zeros_(projecting.residual[-1][1].weight)
    assert torch.allclose(projecting(x), projecting.shortcut(x).relu())
    middle = xception.SeparableBlock([8, 8, 8], 3, halve=False).eval()
    torch.nn.init.zeros_(middle.residual[-1][-1][1].weight)
    assert torch.equal(middle(x.clone()), x)


def test_only_the_first_block_of_xception_has_no_rectifier_before_its_first_convolution() -> None:
    model = xception.build(smallest("xception"), channels=CHANNELS, classes=CLASSES)
    blocks = [module for module in model if isinstance(module, xception.SeparableBlock)]
    assert [isinstance(block.residual[0], torch.nn.ReLU) for block in blocks] == [False] + 11 * [True]


def test_a_separable_convolution_filters_each_channel_on_its_own() -> None:
    for block in (mobilenet.separable(4, 6)[0], xception.separable(4, 6, 3)[0]):
        x = torch.zeros(1, 4, 5, 5)
        x[0, 2] = torch.randn(5, 5)
        touched = block.eval()(x).abs().sum((0, 2, 3)) > 0
        assert not touched[[0, 1, 3]].any()


def without_dropout(model: Any) -> Any:
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.eval()
    return model


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
