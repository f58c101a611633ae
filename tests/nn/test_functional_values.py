"""Values of gradcli.nn.functional against formulas in NumPy."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from numpy.testing import assert_allclose

import gradcli
import gradcli.nn.functional as F
from gradcli import manual_seed

from .compare import check, normal, sigmoid, slope, standard, t

# -- activations ----------------------------------------------------------------------------------

KINKS = {"relu": (0.0, 0.0), "leaky_relu": (0.0, 0.01), "elu": (0.0, 1.0)}


@pytest.mark.parametrize(("name", "x", "want"), [(name, *row) for name, row in KINKS.items()])
def test_slopes_at_kinks_are_pytorchs(name, x, want):
    assert_allclose(slope(getattr(F, name), x), want)


FORMULAS = {"normalize": lambda x: x / np.sqrt((x * x).sum(1, keepdims=True))}


@pytest.mark.parametrize("name", FORMULAS)
def test_activations_are_their_formulas(name):
    x = normal(3, 4)
    check(getattr(F, name)(t(x)), FORMULAS[name](x))


def test_activations_work_in_place():
    x = t([-1.0, 2.0])
    assert F.relu_(x) is x


# -- convolutions and windows ---------------------------------------------------------------------


def windows(x, size, stride, padding, fill=0.0):
    """Return the windows of the last two axes, each in two axes of its own."""
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)), constant_values=fill)
    return sliding_window_view(x, size, (2, 3))[:, :, :: stride[0], :: stride[1]]


@pytest.mark.parametrize(
    "groups,stride,padding,dilation",
    [(1, (1, 1), (0, 0), (1, 1)), (2, (2, 1), (1, 2), (1, 2)), (4, (1, 3), (0, 1), (2, 1))],
)
def test_conv2d_is_a_sum_over_windows(groups, stride, padding, dilation):
    x, w, b = normal(2, 4, 6, 7), normal(8, 4 // groups, 2, 3), normal(8)
    seen = windows(x, (dilation[0] + 1, 2 * dilation[1] + 1), stride, padding)[..., :: dilation[0], :: dilation[1]]
    parts = zip(np.split(seen, groups, 1), np.split(w, groups), strict=True)
    want = np.concatenate([np.einsum("nchwij,ocij->nohw", *part) for part in parts], 1) + b[:, None, None]
    check(F.conv2d(t(x), t(w), t(b), stride, padding, dilation, groups), want)
    check(F.conv2d(t(x[0]), t(w), t(b), stride, padding, dilation, groups), want[0])


def test_complex_convolution_is_four_real_ones():
    x, w = normal(1, 2, 5) + 1j * normal(1, 2, 5), normal(3, 2, 2) + 1j * normal(3, 2, 2)
    first, second = (F.conv1d(t(np.concatenate([x.real, x.imag])), t(part)).numpy() for part in (w.real, w.imag))
    check(F.conv1d(t(x), t(w)), first[:1] - second[1:] + 1j * (first[1:] + second[:1]))


# -- pools ----------------------------------------------------------------------------------------


def test_pools_reduce_windows():
    x = normal(2, 3, 7, 5)
    seen = windows(x, (3, 2), (2, 1), (1, 0), np.nan)
    largest, mean, total = (reduce(seen, (4, 5)) for reduce in (np.nanmax, np.nanmean, np.nansum))
    options = {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 0)}
    check(F.max_pool2d(t(x), **options), largest)
    check(F.avg_pool2d(t(x), count_include_pad=False, **options), mean)
    check(F.avg_pool2d(t(x), **options), total / 6)
    values, places = F.max_pool2d(t(x), return_indices=True, **options)
    check(values, largest)
    check(t(np.take_along_axis(x.reshape(2, 3, 35), places.numpy().reshape(2, 3, -1), 2)), largest.reshape(2, 3, -1))


def test_the_first_of_equal_maxima_counts():
    _, places = F.max_pool2d(gradcli.zeros(1, 1, 4, 4), 3, 2, 1, return_indices=True)
    assert places.tolist() == [[[[0, 1], [4, 5]]]]


def test_windows_may_reach_over_the_end():
    x = t(np.arange(5.0).reshape(1, 5))
    assert F.avg_pool1d(x, 2, ceil_mode=True).tolist() == [[0.5, 2.5, 4.0]]
    assert F.max_pool1d(x, 2, ceil_mode=True).tolist() == [[1.0, 3.0, 4.0]]


# -- padding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode,numpy", [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
def test_padding_is_numpys(mode, numpy):
    x = normal(2, 4, 5)
    check(F.pad(t(x), (2, 3, 1, 2), mode), np.pad(x, ((0, 0), (1, 2), (2, 3)), numpy))


def test_constant_padding_adds_and_cuts():
    x = normal(3, 4)
    check(F.pad(t(x), (1, 0, 0, 2), value=7.0), np.pad(x, ((0, 2), (1, 0)), constant_values=7.0))
    check(F.pad(t(x), (-1, 2)), np.pad(x[:, 1:], ((0, 0), (0, 2))))


def test_complex_numbers():
    z = normal(3) + 1j * normal(3)
    leaf = gradcli.tensor(z, requires_grad=True)
    check(F.sigmoid(leaf), sigmoid(z))
    F.sigmoid(leaf).sum().backward(gradcli.tensor(1.0 + 0j))
    check(leaf.grad, np.conj(sigmoid(z) * (1 - sigmoid(z))))


# -- embeddings and normalization ----------------------------------------------------------------


def test_embeddings_are_rows():
    w = gradcli.tensor(normal(5, 3), requires_grad=True)
    rows = F.embedding(t(np.array([[1, 1], [4, 0]])), w, padding_idx=-1)
    check(rows, w.detach().numpy()[[[1, 1], [4, 0]]])
    rows.sum().backward()
    assert w.grad[:, 0].tolist() == [1, 2, 0, 0, 0]
    assert F.one_hot(t(np.array([2, 0]))).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_normalizations_standardize():
    x, w, b = normal(4, 6, 5), normal(6), normal(6)
    channels = w[:, None], b[:, None]
    check(F.layer_norm(t(x), (6, 5)), standard(x, (1, 2)))
    groups = standard(x.reshape(4, 3, 10), 2).reshape(x.shape)
    check(F.group_norm(t(x), 3, t(w), t(b)), groups * channels[0] + channels[1])
    mean, variance = t(np.zeros(6)), t(np.ones(6))
    check(F.batch_norm(t(x), mean, variance, training=True, momentum=0.25), standard(x, (0, 2)))
    check(mean, 0.25 * x.mean((0, 2)))
    check(variance, 0.75 + 0.25 * x.var((0, 2), ddof=1))
    want = (x - mean.numpy()[:, None]) / np.sqrt(variance.numpy()[:, None] + 1e-5)
    check(F.batch_norm(t(x), mean, variance), want)


def test_dropout_keeps_the_mean_or_drops_everything():
    manual_seed(3)
    out = F.dropout(gradcli.ones(10000), 0.25)
    assert set(np.unique(out.numpy())) == {0.0, 1 / 0.75}
    assert abs(float(out.mean()) - 1) < 0.05
    assert F.dropout(gradcli.ones(3), 1.0).tolist() == [0, 0, 0]
