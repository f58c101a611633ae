"""Values and names of gradcli.nn.functional, compared with formulas in NumPy and SciPy.

Errors are tested in tests/cases/tape/engine_errors.txt, slopes with the entries of the table and in `test_layers`.
"""

import inspect
import math

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from numpy.testing import assert_allclose
from scipy.special import log_softmax, softmax

import gradcli
import gradcli.nn.functional as F
from gradcli import func, zeros

from .compare import check, normal, sigmoid, slope, standard, t


@pytest.mark.parametrize("name", F.__all__)
def test_every_name_is_a_documented_function(name):
    function = getattr(F, name)
    assert function.__name__ == name
    assert inspect.getdoc(function)


@pytest.mark.parametrize("name", sorted(F.OUTSIDE_TOO))
def test_top_level_names_are_the_same_functions(name):
    assert getattr(gradcli, name) is getattr(F, name)


# -- activations, rows, norms ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["relu", "leaky_relu"])
def test_second_derivatives_of_linear_pieces_are_zero_not_missing(name):
    x = gradcli.tensor([0.6, -0.7, 2.0], requires_grad=True)
    (first,) = gradcli.autograd.grad(getattr(F, name)(x).sum(), x, create_graph=True)
    (second,) = gradcli.autograd.grad(first.sum(), x)
    assert second.tolist() == [0.0, 0.0, 0.0]


def test_activations_work_in_place():
    x = t([-1.0, 2.0])
    assert F.relu_(x) is x


def test_embedding_and_one_hot():
    w = gradcli.tensor(normal(5, 3), requires_grad=True)
    rows = F.embedding(t([[1, 1], [4, 0]]), w, padding_idx=-1)
    check(rows, w.detach().numpy()[[[1, 1], [4, 0]]])
    rows.sum().backward()
    assert w.grad[:, 0].tolist() == [1, 2, 0, 0, 0]
    assert F.one_hot(t([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_batch_norm_updates_the_running_statistics():
    x, mean, variance = normal(4, 6, 5), t(np.zeros(6)), t(np.ones(6))
    check(F.batch_norm(t(x), mean, variance, training=True, momentum=0.25), standard(x, (0, 2)))
    check(mean, 0.25 * x.mean((0, 2)))
    check(variance, 0.75 + 0.25 * x.var((0, 2), ddof=1))
    want = (x - mean.numpy()[:, None]) / np.sqrt(variance.numpy()[:, None] + 1e-5)
    check(F.batch_norm(t(x), mean, variance), want)


# -- windows --------------------------------------------------------------------------------------


def windows(x, size, stride, padding, fill=0.0):
    """Return the windows over the last two axes, as two additional axes."""
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)), constant_values=fill)
    return sliding_window_view(x, size, (2, 3))[:, :, :: stride[0], :: stride[1]]


@pytest.mark.parametrize(
    "groups,stride,padding,dilation",
    [(1, (1, 1), (0, 0), (1, 1)), (2, (2, 1), (1, 2), (1, 2)), (4, (1, 3), (4, 1), (2, 1))],
)
def test_conv2d_is_a_sum_over_windows(groups, stride, padding, dilation):
    x, w, b = normal(2, 4, 6, 7), normal(8, 4 // groups, 2, 3), normal(8)
    seen = windows(x, (dilation[0] + 1, 2 * dilation[1] + 1), stride, padding)[..., :: dilation[0], :: dilation[1]]
    parts = zip(np.split(seen, groups, 1), np.split(w, groups), strict=True)
    want = np.concatenate([np.einsum("nchwij,ocij->nohw", *part) for part in parts], 1) + b[:, None, None]
    check(F.conv2d(t(x), t(w), t(b), stride, padding, dilation, groups), want)
    check(F.conv2d(t(x[0]), t(w), t(b), stride, padding, dilation, groups), want[0])


def test_same_padding_keeps_the_length():
    x, w = normal(1, 1, 5), normal(1, 1, 4)
    check(F.conv1d(t(x), t(w), padding="same"), np.correlate(np.pad(x[0, 0], (1, 2)), w[0, 0])[None, None])


def test_complex_convolution_is_four_real_ones():
    x, w = normal(1, 2, 5) + 1j * normal(1, 2, 5), normal(3, 2, 2) + 1j * normal(3, 2, 2)
    first, second = (F.conv1d(t(np.concatenate([x.real, x.imag])), t(part)).numpy() for part in (w.real, w.imag))
    check(F.conv1d(t(x), t(w)), first[:1] - second[1:] + 1j * (first[1:] + second[:1]))


def test_pools_reduce_windows():
    x = normal(2, 3, 7, 5)
    seen = windows(x, (3, 2), (2, 1), (1, 0), np.nan)
    largest, total = (reduce(seen, (4, 5)) for reduce in (np.nanmax, np.nansum))
    options = {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 0)}
    check(F.max_pool2d(t(x), **options), largest)
    check(F.avg_pool2d(t(x), **options), total / 6)


def test_max_pooling_selects_the_first_maximum_and_never_the_padding():
    for value in (0.0, -math.inf):
        x = gradcli.full((1, 1, 4, 4), value, requires_grad=True)
        F.max_pool2d(x, 3, 2, 1).backward(gradcli.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]))
        assert x.grad.tolist() == [[[[1, 2, 0, 0], [3, 4, 0, 0], [0] * 4, [0] * 4]]]


def test_ceil_mode_windows_may_extend_past_the_end():
    x = t(np.arange(5.0).reshape(1, 5))
    assert F.max_pool1d(x, 2, ceil_mode=True).tolist() == [[1.0, 3.0, 4.0]]
    assert F.max_pool1d(x, 3, 3, 1, ceil_mode=True).tolist() == [[1.0, 4.0]]  # a third window would start outside


def test_empty_batches_give_empty_results():
    empty = zeros(0, 4, 5, 5)
    assert F.conv2d(empty, zeros(2, 4, 3, 3)).shape == (0, 2, 3, 3)
    assert F.max_pool2d(empty, 2).shape == F.avg_pool2d(empty, 2).shape == (0, 4, 2, 2)


def test_padding_with_a_constant():
    x = normal(3, 4)
    check(F.pad(t(x), (1, 0, 0, 2), value=7.0), np.pad(x, ((0, 2), (1, 0)), constant_values=7.0))


# -- losses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "want"),
    [
        ("l1_loss", {}, [0.5, 0, 3]),
        ("mse_loss", {}, [0.25, 0, 9]),
        ("huber_loss", {"delta": 2.0}, [0.125, 0, 4]),
        ("smooth_l1_loss", {"beta": 2.0}, [0.0625, 0, 2]),
    ],
)
@pytest.mark.parametrize(("reduction", "reduce"), [("none", np.asarray), ("sum", np.sum), ("mean", np.mean)])
def test_elementwise_losses(name, options, want, reduction, reduce):
    x, y, loss = t([0.0, 0.5, 3.0]), t([0.5, 0.5, 0.0]), getattr(F, name)
    check(loss(x, y, reduction=reduction, **options), reduce(want))
    with pytest.warns(UserWarning, match=r"target size \(.*Size\(\[3\]\)\) that is different to the input size"):
        assert loss(t(np.ones((3, 1))), t(np.ones(3)), reduction="none").shape == (3, 3)


def test_classification_losses():
    x, classes, weight = normal(4, 3), np.array([2, 0, -100, 1]), np.array([1.0, 2.0, 0.5])
    logs = log_softmax(x, 1)
    chosen = np.array([-logs[0, 2] * 0.5, -logs[1, 0] * 1.0, 0, -logs[3, 1] * 2.0])
    check(F.cross_entropy(t(x), t(classes), t(weight), reduction="none"), chosen)
    check(F.cross_entropy(t(x), t(classes), t(weight)), chosen.sum() / 3.5)
    check(F.cross_entropy(t(x), t([2, 0, 1, 1]), t(weight), ignore_index=1, reduction="none"), [*chosen[:2], 0, 0])
    check(F.nll_loss(t(logs), t(classes), t(weight), reduction="sum"), chosen.sum())
    spread = 0.7 * np.eye(3)[[2, 0, 0, 1]] + 0.1
    want = -(logs * spread).sum(1)[[0, 1, 3]].mean()
    check(F.cross_entropy(t(x), t(classes), label_smoothing=0.3), want)
    check(F.cross_entropy(t(x), t(spread)), -(logs * spread).sum(1).mean())
    check(func.vmap(lambda a: F.cross_entropy(a, t(2)))(t(x)), -logs[:, 2])


def test_the_gradient_of_nll_loss_skips_ignored_targets():
    x, classes, weight = normal(2, 3, 2), np.array([[2, -100], [0, 1]]), np.array([1.0, 2.0, 0.5])
    logs = t(x).requires_grad_()
    loss = F.nll_loss(logs, t(classes), t(weight))
    check(loss, -(0.5 * x[0, 2, 0] + x[1, 0, 0] + 2 * x[1, 1, 1]) / 3.5)
    loss.backward()
    want = np.zeros((2, 3, 2))
    want[0, 2, 0], want[1, 0, 0], want[1, 1, 1] = -0.5 / 3.5, -1 / 3.5, -2 / 3.5
    assert_allclose(logs.grad, want)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_mse_loss_is_one_node(reduction):
    x, y = t(normal(3, 2)).requires_grad_(), t(normal(3, 2)).requires_grad_()
    node = F.mse_loss(x, y, reduction=reduction).grad_fn
    assert node.name() == "MseLossBackward0"
    assert all(before.variable is leaf for (before, _), leaf in zip(node.next_functions, (x, y), strict=True))


def test_mse_loss_of_a_number_is_rounded_like_a_product():
    x = 2.759  # a number for which x**2 is rounded differently
    assert F.mse_loss(t(x), t(0.0)).item() == x * x


def test_mean_losses_of_no_elements_are_nan_with_zero_gradient():
    assert np.isnan(F.mse_loss(t(np.ones((0, 2))), t(np.ones((0, 2)))).item())
    x = t(normal(2, 3)).requires_grad_()
    loss = F.cross_entropy(x, t([-100, -100]))
    loss.backward()
    assert np.isnan(loss.item())
    assert not x.grad.any()
    assert slope(lambda a: F.l1_loss(a, t([0.5])), [0.5]) == 0


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_a_zero_loss_is_positive_zero(zero, reduction):
    loss = F.nll_loss(t(np.full((3, 4), zero)), t([0, 1, 2]), reduction=reduction)
    assert math.copysign(1, loss.item()) == 1


def test_losses_of_probabilities():
    p, q = softmax(normal(3)), softmax(normal(3))
    check(F.kl_div(t(np.log(q)), t(p), reduction="sum"), (p * np.log(p / q)).sum())
    assert F.kl_div(t(np.log(q)), t([0.0, 0.5, 0.5]), reduction="none")[0].item() == 0
    x, weight = normal(4, 3), np.array([1.0, 2.0, 0.5])
    p, y = sigmoid(x), np.round(sigmoid(normal(4, 3)))
    both = -(y * np.log(p) + (1 - y) * np.log(1 - p))
    check(F.binary_cross_entropy(t(p), t(y)), both.mean())
    check(F.binary_cross_entropy(t(p), t(y), t(weight)), (both * weight).mean())
    check(F.binary_cross_entropy_with_logits(t(x), t(y), t(weight)), (both * weight).mean())
    positive = -(weight * y * np.log(p) + (1 - y) * np.log(1 - p))
    check(F.binary_cross_entropy_with_logits(t(x), t(y), pos_weight=t(weight)), positive.mean())
    assert F.binary_cross_entropy(t([0.0, 1.0]), t([1.0, 1.0]), reduction="none").tolist() == [100.0, 0.0]
