"""Values of gradcli.nn.functional against plain loops and formulas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gradcli
import gradcli.nn.functional as F
from gradcli.face.create import manual_seed

RNG = np.random.default_rng(8)
inf = math.inf


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def t(x) -> gradcli.Tensor:
    return gradcli.tensor(np.asarray(x))


def check(got, want, **options) -> None:
    assert_allclose(np.asarray(got.detach().numpy()), want, rtol=1e-10, atol=1e-12, **options)


def slope(function, x) -> np.ndarray:
    leaf = gradcli.tensor(np.array(x, float), requires_grad=True)
    function(leaf).sum().backward()
    return leaf.grad.numpy()


# -- activations ----------------------------------------------------------------------------------

KINKS = {
    "relu": (0.0, 0.0),
    "relu6": ([0.0, 6.0], [0.0, 0.0]),
    "hardtanh": ([-1.0, 1.0], [0.0, 0.0]),
    "hardsigmoid": ([-3.0, 3.0], [0.0, 0.0]),
    "hardswish": ([-3.0, 3.0], [0.0, 1.0]),
    "hardshrink": ([-0.5, 0.5], [0.0, 0.0]),
    "softshrink": ([-0.5, 0.5], [0.0, 0.0]),
    "leaky_relu": (0.0, 0.01),
    "elu": (0.0, 1.0),
    "selu": (0.0, 1.7580993408473766),
    "celu": (0.0, 1.0),
}


@pytest.mark.parametrize("name", KINKS)
def test_slopes_at_kinks_are_pytorchs(name):
    x, want = KINKS[name]
    assert_allclose(slope(getattr(F, name), x), want)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FORMULAS = {
    "silu": lambda x: x * sigmoid(x),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "celu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "softsign": lambda x: x / (1 + abs(x)),
    "tanhshrink": lambda x: x - np.tanh(x),
    "hardshrink": lambda x: np.where(abs(x) > 0.5, x, 0),
    "softshrink": lambda x: np.sign(x) * np.maximum(abs(x) - 0.5, 0),
    "glu": lambda x: x[..., :2] * sigmoid(x[..., 2:]),
    "softmin": lambda x: np.exp(-x) / np.exp(-x).sum(1, keepdims=True),
    "normalize": lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_activations_are_their_formulas(name):
    x = normal(3, 4)
    check(getattr(F, name)(t(x)), FORMULAS[name](x))


def test_activations_work_in_place():
    x = t([-1.0, 2.0])
    assert F.relu_(x) is x
    assert F.threshold(x, 1.0, 5.0, inplace=True).tolist() == [5.0, 2.0] == x.tolist()


def test_dropout_keeps_the_mean_or_drops_everything():
    manual_seed(3)
    out = F.dropout(gradcli.ones(10000), 0.25)
    assert set(np.unique(out.numpy())) == {0.0, 1 / 0.75}
    assert abs(float(out.mean()) - 1) < 0.05
    assert F.dropout(gradcli.ones(3), 1.0).tolist() == [0, 0, 0]
    channels = F.dropout2d(gradcli.ones(8, 8, 2, 2)).numpy().reshape(64, 4)
    assert (channels == channels[:, :1]).all()
    selu_like = F.alpha_dropout(gradcli.randn(20000), 0.3, True)
    assert abs(float(selu_like.mean())) < 0.05 and abs(float(selu_like.std()) - 1) < 0.05


def test_gumbel_softmax_chooses_one():
    manual_seed(1)
    hard = F.gumbel_softmax(gradcli.zeros(50, 3), hard=True)
    check(hard.sum(-1), np.ones(50))
    assert len(np.unique(hard.argmax(-1).numpy())) == 3


# -- convolutions and windows ---------------------------------------------------------------------


def naive_conv2d(x, w, stride, padding, dilation, groups):
    """Sum products one window at a time."""
    x = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    n, _, height, width = x.shape
    outs, part, kh, kw = w.shape
    oh = (height - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    ow = (width - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    y = np.zeros((n, outs, oh, ow))
    for o, i, j in np.ndindex(outs, oh, ow):
        first = o // (outs // groups) * part
        rows = i * stride[0] + dilation[0] * np.arange(kh)
        columns = j * stride[1] + dilation[1] * np.arange(kw)
        y[:, o, i, j] = (x[:, first : first + part][:, :, rows[:, None], columns] * w[o]).sum((1, 2, 3))
    return y


@pytest.mark.parametrize(
    "groups,stride,padding,dilation",
    [(1, (1, 1), (0, 0), (1, 1)), (2, (2, 1), (1, 2), (1, 2)), (4, (1, 3), (0, 1), (2, 1))],
)
def test_conv2d_is_a_sum_over_windows(groups, stride, padding, dilation):
    x, w, b = normal(2, 4, 6, 7), normal(8, 4 // groups, 2, 3), normal(8)
    want = naive_conv2d(x, w, stride, padding, dilation, groups) + b[:, None, None]
    check(F.conv2d(t(x), t(w), t(b), stride, padding, dilation, groups), want)
    check(F.conv2d(t(x[0]), t(w), t(b), stride, padding, dilation, groups), want[0])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_transposed_convolution_is_the_transpose(n):
    x, w = t(normal(2, 4, *(6, 5, 4)[:n])), t(normal(6, 2, *(3, 2, 1)[:n]))
    options = {"stride": 2, "padding": 1, "groups": 2}
    y = getattr(F, f"conv{n}d")(x, w, **options)
    g = t(normal(*y.shape))
    extra = tuple((m + 2 - k) % 2 for m, k in zip(x.shape[2:], w.shape[2:], strict=True))
    back = getattr(F, f"conv_transpose{n}d")(g, w, output_padding=extra, **options)
    assert back.shape == x.shape
    check((back * x).sum(), float((g * y).sum()))


def test_complex_convolution_is_four_real_ones():
    x, w = normal(1, 2, 5) + 1j * normal(1, 2, 5), normal(3, 2, 2) + 1j * normal(3, 2, 2)
    parts = {
        (a, b): F.conv1d(t(getattr(x, a)), t(getattr(w, b))).numpy()
        for a in ("real", "imag")
        for b in ("real", "imag")
    }
    want = parts["real", "real"] - parts["imag", "imag"] + 1j * (parts["real", "imag"] + parts["imag", "real"])
    check(F.conv1d(t(x), t(w)), want)


def test_fold_is_the_transpose_of_unfold():
    x = t(normal(2, 3, 5, 6))
    options = {"kernel_size": (2, 3), "dilation": (2, 1), "padding": (1, 0), "stride": (1, 2)}
    columns = F.unfold(x, **options)
    assert columns.shape == (2, 18, 10)
    check(columns[0, :6, 0], [0, 0, 0, *x[0, 0, 1, :3].tolist()])
    g = t(normal(*columns.shape))
    check((F.fold(g, (5, 6), **options) * x).sum(), float((g * columns).sum()))


# -- pools ----------------------------------------------------------------------------------------


def windows(size, kernel, stride, padding):
    for start in range(-padding, size + padding - kernel + 1, stride):
        yield [i for i in range(start, start + kernel) if 0 <= i < size]


def test_pools_are_loops_over_windows():
    x = normal(2, 3, 7, 5)
    rows, columns = list(windows(7, 3, 2, 1)), list(windows(5, 2, 1, 0))
    cut = [[x[:, :, r][:, :, :, c] for c in columns] for r in rows]
    options = {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 0)}
    largest = np.array([[w.max((2, 3)) for w in line] for line in cut]).transpose(2, 3, 0, 1)
    check(F.max_pool2d(t(x), **options), largest)
    mean = np.array([[w.mean((2, 3)) for w in line] for line in cut]).transpose(2, 3, 0, 1)
    check(F.avg_pool2d(t(x), count_include_pad=False, **options), mean)
    total = np.array([[w.sum((2, 3)) for w in line] for line in cut]).transpose(2, 3, 0, 1)
    check(F.avg_pool2d(t(x), **options), total / 6)
    check(F.avg_pool2d(t(x), divisor_override=4, **options), total / 4)
    values, places = F.max_pool2d(t(x), return_indices=True, **options)
    check(values, largest)
    check(t(np.take_along_axis(x.reshape(2, 3, 35), places.numpy().reshape(2, 3, -1), 2)), largest.reshape(2, 3, -1))
    power = np.array(
        [
            [(w**2).sum((2, 3)) ** 0.5 for w in line]
            for line in [[x[:, :, r][:, :, :, c] for c in columns] for r in windows(7, 3, 2, 0)]
        ]
    ).transpose(2, 3, 0, 1)
    check(F.lp_pool2d(t(x), 2.0, (3, 2), (2, 1)), power)


def test_the_first_of_equal_maxima_counts():
    _, places = F.max_pool2d(gradcli.zeros(1, 1, 4, 4), 3, 2, 1, return_indices=True)
    assert places.tolist() == [[[[0, 1], [4, 5]]]]


def test_adaptive_pools_share_the_axis():
    x = np.arange(7.0).reshape(1, 1, 7)
    assert F.adaptive_avg_pool1d(t(x), 3).tolist() == [[[1.0, 3.0, 5.0]]]
    assert F.adaptive_max_pool1d(t(x), 3).tolist() == [[[2.0, 4.0, 6.0]]]
    assert F.adaptive_avg_pool2d(gradcli.ones(1, 2, 5, 6), (None, 1)).shape == (1, 2, 5, 1)


def test_windows_may_reach_over_the_end():
    x = t(np.arange(5.0).reshape(1, 5))
    assert F.avg_pool1d(x, 2, ceil_mode=True).tolist() == [[0.5, 2.5, 4.0]]
    assert F.max_pool1d(x, 2, ceil_mode=True).tolist() == [[1.0, 3.0, 4.0]]


def test_max_unpool_puts_maxima_back():
    x = t(normal(1, 2, 4, 6))
    values, places = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(values, places, 2)
    check(back, np.where(np.isin(x.numpy(), values.numpy()), x.numpy(), 0))


def test_fractional_windows_cover_both_ends():
    x = t(np.arange(9.0).reshape(1, 1, 1, 9).repeat(9, 2))
    out = F.fractional_max_pool2d(x, 2, output_size=(4, 4))
    assert out[0, 0, 0, -1].item() == 8 and out[0, 0, 0, 0].item() in (1.0, 2.0)


# -- padding, pixels, interpolation ---------------------------------------------------------------


@pytest.mark.parametrize("mode,numpy", [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
def test_padding_is_numpys(mode, numpy):
    x = normal(2, 4, 5)
    check(F.pad(t(x), (2, 3, 1, 2), mode), np.pad(x, ((0, 0), (1, 2), (2, 3)), numpy))


def test_constant_padding_adds_and_cuts():
    x = normal(3, 4)
    check(F.pad(t(x), (1, 0, 0, 2), value=7.0), np.pad(x, ((0, 2), (1, 0)), constant_values=7.0))
    check(F.pad(t(x), (-1, 2)), np.pad(x[:, 1:], ((0, 0), (0, 2))))


def test_pixels_and_channels_are_exchanged():
    x = t(np.arange(16.0).reshape(1, 4, 2, 2))
    assert F.pixel_shuffle(x, 2)[0, 0].tolist() == [[0, 4, 1, 5], [8, 12, 9, 13], [2, 6, 3, 7], [10, 14, 11, 15]]
    check(F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2), x.numpy())
    assert F.channel_shuffle(x, 2)[0, :, 0, 0].tolist() == [0, 8, 4, 12]


def test_interpolation_of_a_line():
    x = t(np.array([[[0.0, 2.0, 4.0]]]))
    check(F.interpolate(x, 5, mode="linear", align_corners=True), [[[0, 1, 2, 3, 4]]])
    check(F.interpolate(x, 6, mode="linear"), [[[0, 0.5, 1.5, 2.5, 3.5, 4]]])
    assert F.interpolate(x, 6).tolist() == [[[0, 0, 2, 2, 4, 4]]]
    assert F.interpolate(x, scale_factor=0.7, mode="nearest-exact").tolist() == [[[0, 4]]]
    check(F.interpolate(x, 1, mode="area"), [[[2]]])
    plane = np.add.outer(np.arange(8.0), 3 * np.arange(8.0))[None, None]
    cubic = F.interpolate(t(plane), (15, 15), mode="bicubic", align_corners=True).numpy()[0, 0]
    assert_allclose(cubic[4:11, 4:11], np.add.outer(np.arange(2, 5.5, 0.5), 3 * np.arange(2, 5.5, 0.5)))


def test_shrinking_with_antialias_averages():
    x = normal(1, 1, 8, 8)
    small = F.interpolate(t(x), (4, 4), mode="bilinear", antialias=True).numpy()[0, 0]
    weights = np.array([1, 3, 3, 1]) / 8
    assert_allclose(small[1, 1], weights @ x[0, 0, 1:5, 1:5] @ weights)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [True, False])
def test_sampling_at_every_pixel_copies(mode, padding, align):
    x = t(normal(2, 3, 4, 5))
    eye = t(np.array([[[1.0, 0, 0], [0, 1, 0]]] * 2))
    grid = F.affine_grid(eye, x.shape, align)
    assert_allclose(F.grid_sample(x, grid, mode, padding, align).numpy(), x.numpy(), atol=1e-10)


def test_outside_lie_zeros_the_border_or_the_reflection():
    x = t(np.array([[[[1.0, 2.0, 4.0]]]]))
    grid = t(np.array([[[[-2.0, 0.0], [2.0, 0.0]]]]))
    for padding, want in {"zeros": [0.0, 0.0], "border": [1.0, 4.0], "reflection": [2.0, 2.0]}.items():
        check(F.grid_sample(x, grid, padding_mode=padding, align_corners=True)[0, 0, 0], want)


# -- embeddings, normalization, attention ---------------------------------------------------------


def test_embeddings_are_rows():
    w = gradcli.tensor(normal(5, 3), requires_grad=True)
    rows = F.embedding(t(np.array([[1, 1], [4, 0]])), w, padding_idx=-1)
    check(rows, w.detach().numpy()[[[1, 1], [4, 0]]])
    rows.sum().backward()
    assert w.grad[:, 0].tolist() == [1, 2, 0, 0, 0]
    large = t(np.array([[3.0, 4.0], [0.3, 0.4]]))
    F.embedding(t(np.array([0, 1])), large, max_norm=1.0)
    assert_allclose(large.numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)
    assert F.one_hot(t(np.array([2, 0]))).tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize("mode,reduce", [("sum", np.sum), ("mean", np.mean), ("max", np.max)])
def test_embedding_bags_reduce_their_rows(mode, reduce):
    w, numbers = normal(6, 3), np.array([1, 3, 3, 0, 5])
    out = F.embedding_bag(t(numbers), t(w), t(np.array([0, 2, 2])), mode=mode)
    check(out, [reduce(w[[1, 3]], 0), np.zeros(3), reduce(w[[3, 0, 5]], 0)])
    padded = F.embedding_bag(t(numbers[None]), t(w), mode=mode, padding_idx=3)
    check(padded[0], reduce(w[[1, 0, 5]], 0))


def standard(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def test_normalizations_standardize():
    x, w, b = normal(4, 6, 5), normal(6), normal(6)
    channels = w[:, None], b[:, None]
    check(F.layer_norm(t(x), (6, 5)), standard(x, (1, 2)))
    check(F.instance_norm(t(x), weight=t(w), bias=t(b)), standard(x, 2) * channels[0] + channels[1])
    groups = standard(x.reshape(4, 3, 10), 2).reshape(x.shape)
    check(F.group_norm(t(x), 3, t(w), t(b)), groups * channels[0] + channels[1])
    check(F.rms_norm(t(x), (5,), eps=0.1), x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.1))
    mean, variance = t(np.zeros(6)), t(np.ones(6))
    check(F.batch_norm(t(x), mean, variance, training=True, momentum=0.25), standard(x, (0, 2)))
    check(mean, 0.25 * x.mean((0, 2)))
    check(variance, 0.75 + 0.25 * x.var((0, 2), ddof=1))
    want = (x - mean.numpy()[:, None]) / np.sqrt(variance.numpy()[:, None] + 1e-5)
    check(F.batch_norm(t(x), mean, variance), want)
    squares = np.pad(x * x, ((0, 0), (1, 1), (0, 0)))
    mean3 = (squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]) / 3
    check(F.local_response_norm(t(x), 3, 0.2, 0.5, 2.0), x / (2 + 0.2 * mean3) ** 0.5)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_attention_averages_values():
    q, k, v = normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 6)
    scores = q @ k.swapaxes(1, 2) / 2
    check(F.scaled_dot_product_attention(t(q), t(k), t(v)), softmax(scores) @ v)
    causal = np.where(np.tri(3, 5, dtype=bool), scores, -inf)
    check(F.scaled_dot_product_attention(t(q), t(k), t(v), is_causal=True), softmax(causal) @ v)
    nothing = t(np.array([[True] * 5, [False] * 5, [True] * 5]))
    assert F.scaled_dot_product_attention(t(q), t(k), t(v), nothing)[:, 1].tolist() == [[0.0] * 6] * 2
    heads = F.scaled_dot_product_attention(t(normal(4, 3, 2)), t(k[:, :, :2]), t(v), enable_gqa=True)
    assert heads.shape == (4, 3, 6)


def test_several_heads_are_attention_side_by_side():
    x, w, b = normal(3, 2, 4), normal(12, 4), normal(12)
    out, weights = F.multi_head_attention_forward(
        t(x), t(x), t(x), 4, 2, t(w), t(b), None, None, False, 0.0, t(np.eye(4)), t(np.zeros(4))
    )
    q, k, v = np.split(x @ w.T + b, 3, -1)
    for sample, head in np.ndindex(2, 2):
        part = slice(2 * head, 2 * head + 2)
        chosen = softmax(q[:, sample, part] @ k[:, sample, part].T / math.sqrt(2))
        check(out[:, sample, part], chosen @ v[:, sample, part])
    check(weights.sum(-1), np.ones((2, 3)))


# -- losses ---------------------------------------------------------------------------------------


def test_losses_of_numbers():
    x, y = np.array([0.0, 0.5, 3.0]), np.array([0.5, 0.5, 0.0])
    for name, options, want in [
        ("l1_loss", {}, [0.5, 0, 3]),
        ("mse_loss", {}, [0.25, 0, 9]),
        ("huber_loss", {"delta": 2.0}, [0.125, 0, 4]),
        ("smooth_l1_loss", {"beta": 2.0}, [0.0625, 0, 2]),
    ]:
        for reduction, reduce in {"none": np.asarray, "sum": np.sum, "mean": np.mean}.items():
            check(getattr(F, name)(t(x), t(y), reduction=reduction, **options), reduce(want))
    assert slope(lambda a: F.l1_loss(a, t([0.5])), [0.5]) == 0
    check(F.mse_loss(t(x), t(y), weight=t([1.0, 1.0, 2.0])), 18.25 / 4)


def test_losses_of_classes():
    x, classes, weight = normal(4, 3), np.array([2, 0, -100, 1]), np.array([1.0, 2.0, 0.5])
    logs = np.log(softmax(x))
    chosen = np.array([-logs[0, 2] * 0.5, -logs[1, 0] * 1.0, 0, -logs[3, 1] * 2.0])
    check(F.cross_entropy(t(x), t(classes), t(weight), reduction="none"), chosen)
    check(F.cross_entropy(t(x), t(classes), t(weight)), chosen.sum() / 3.5)
    check(F.nll_loss(t(logs), t(classes), t(weight), reduction="sum"), chosen.sum())
    spread = 0.7 * np.eye(3)[[2, 0, 0, 1]] + 0.1
    want = -(logs * spread).sum(1)[[0, 1, 3]].mean()
    check(F.cross_entropy(t(x), t(classes), label_smoothing=0.3), want)
    check(F.cross_entropy(t(x), t(spread)), -(logs * spread).sum(1).mean())
    p, y = sigmoid(x), np.round(sigmoid(normal(4, 3)))
    both = -(y * np.log(p) + (1 - y) * np.log(1 - p))
    check(F.binary_cross_entropy(t(p), t(y)), both.mean())
    check(F.binary_cross_entropy_with_logits(t(x), t(y)), both.mean())
    assert F.binary_cross_entropy(t([0.0, 1.0]), t([1.0, 1.0]), reduction="none").tolist() == [100.0, 0.0]


def test_likelihoods():
    x, y = normal(3), np.array([0.0, 1.0, 4.0])
    stirling = np.where(y > 1, y * np.log(np.maximum(y, 1)) - y + 0.5 * np.log(2 * np.pi * np.maximum(y, 1)), 0)
    check(F.poisson_nll_loss(t(x), t(y), full=True, reduction="none"), np.exp(x) - y * x + stirling)
    check(F.gaussian_nll_loss(t(x), t(y), 2.0, reduction="none"), 0.5 * (np.log(2) + (x - y) ** 2 / 2))
    p, q = softmax(normal(3)), softmax(normal(3))
    check(F.kl_div(t(np.log(q)), t(p), reduction="sum"), (p * np.log(p / q)).sum())
    assert F.kl_div(t(np.log(q)), t([0.0, 0.5, 0.5]), reduction="none")[0].item() == 0


def test_losses_with_a_margin():
    x, z = np.array([0.3, 0.6, -2.0]), np.array([0.4, 0.1, -1.0])
    signs = np.array([1.0, -1.0, -1.0])
    check(F.hinge_embedding_loss(t(x), t(signs), reduction="none"), [0.3, 0.4, 3.0])
    check(F.margin_ranking_loss(t(x), t(z), t(signs), 0.2, reduction="none"), [0.3, 0.7, 0.0])
    check(F.soft_margin_loss(t(x), t(signs), reduction="none"), np.log1p(np.exp(-signs * x)))
    check(F.multi_margin_loss(t([x]), t([1])), (1 + 0.3 - 0.6) / 3)
    check(F.multi_margin_loss(t(x), t(0), p=2), (1.3**2) / 3)
    check(F.multilabel_margin_loss(t([[0.1, 0.2, 0.4, 0.8]]), t([[3, 0, -1, 1]])), 0.85)
    cosine = (x @ z) / math.sqrt((x @ x) * (z @ z))
    check(F.cosine_embedding_loss(t(x), t(z), t(1.0)), 1 - cosine)
    check(F.cosine_similarity(t([x]), t([z])), [cosine])
    far = [math.dist(x, z), math.dist(x, 2 * z), math.dist(z, 2 * z)]
    got = F.triplet_margin_loss(t([x]), t([z]), t([2 * z]), swap=True, eps=0.0)
    check(got, max(1 + far[0] - min(far[1], far[2]), 0))
    check(F.pdist(t([x, z, 2 * z])), far)


def collapsed(path) -> tuple:
    """Merge repeats, then drop blanks (0)."""
    return tuple(k for k, _ in itertools.groupby(path) if k)


def test_ctc_sums_over_all_alignments():
    logs = np.log(softmax(normal(4, 2, 3)))
    targets, lengths, times = np.array([[1, 1], [2, 0]]), [2, 1], [4, 3]
    want = []
    for i, (label, time) in enumerate([((1, 1), 4), ((2,), 3)]):
        paths = (p for p in itertools.product(range(3), repeat=time) if collapsed(p) == label)
        want.append(-math.log(sum(math.exp(sum(logs[s, i, k] for s, k in enumerate(p))) for p in paths)))
    check(F.ctc_loss(t(logs), t(targets), times, lengths, reduction="none"), want)
    check(F.ctc_loss(t(logs), t(np.array([1, 1, 2])), times, lengths), (want[0] / 2 + want[1]) / 2)
    short = F.ctc_loss(t(logs), t(targets), [2, 3], lengths, reduction="none")
    assert short[0].item() == inf
    assert F.ctc_loss(t(logs), t(targets), [2, 3], lengths, reduction="none", zero_infinity=True)[0].item() == 0


def test_the_gradient_of_ctc_is_that_of_log_softmax_outputs():
    x = normal(4, 1, 3)

    def loss(logs):
        return F.ctc_loss(logs, t(np.array([[1, 2]])), [4], [2], reduction="sum")

    direct = slope(loss, np.log(softmax(x)))
    assert_allclose(direct.sum(-1), 0, atol=1e-12)
    assert_allclose(slope(lambda a: loss(F.log_softmax(a, -1)), x), direct, atol=1e-12)
