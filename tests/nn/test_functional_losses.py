"""Losses of gradcli.nn.functional against formulas in NumPy."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax, softmax

import gradcli.nn.functional as F
from gradcli import func

from .compare import check, normal, sigmoid, slope, t


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
def test_losses_of_numbers(name, options, want, reduction, reduce):
    x, y = t([0.0, 0.5, 3.0]), t([0.5, 0.5, 0.0])
    check(getattr(F, name)(x, y, reduction=reduction, **options), reduce(want))


def test_a_loss_may_have_weights_and_has_no_slope_at_its_kink():
    check(F.mse_loss(t([0.0, 0.5, 3.0]), t([0.5, 0.5, 0.0]), weight=t([1.0, 1.0, 2.0])), 18.25 / 4)
    assert slope(lambda a: F.l1_loss(a, t([0.5])), [0.5]) == 0


def test_losses_of_classes():
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
    p, y = sigmoid(x), np.round(sigmoid(normal(4, 3)))
    both = -(y * np.log(p) + (1 - y) * np.log(1 - p))
    check(F.binary_cross_entropy(t(p), t(y)), both.mean())
    check(F.binary_cross_entropy_with_logits(t(x), t(y)), both.mean())
    assert F.binary_cross_entropy(t([0.0, 1.0]), t([1.0, 1.0]), reduction="none").tolist() == [100.0, 0.0]


def test_a_loss_of_classes_spreads_its_gradient_over_the_places_that_count():
    x, classes, weight = normal(2, 3, 2), np.array([[2, -100], [0, 1]]), np.array([1.0, 2.0, 0.5])
    logs = t(x).requires_grad_()
    F.nll_loss(logs, t(classes), t(weight)).backward()
    want = np.zeros((2, 3, 2))
    want[0, 2, 0], want[1, 0, 0], want[1, 1, 1] = -0.5 / 3.5, -1 / 3.5, -2 / 3.5
    assert_allclose(logs.grad, want)


@pytest.mark.parametrize("name", ["l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss"])
def test_targets_of_another_shape_are_warned_of(name):
    with pytest.warns(UserWarning, match=r"target size \(.*Size\(\[3\]\)\) that is different to the input size"):
        assert getattr(F, name)(t(np.ones((3, 1))), t(np.ones(3)), reduction="none").shape == (3, 3)


def test_weights_of_planes_of_classes_all_of_which_count():
    x, classes, weight = normal(2, 3, 4), np.array([[2, 0, 1, 1], [0, 1, 2, 0]]), np.array([1.0, 2.0, 0.5])
    taken = np.take_along_axis(x, classes[:, None], 1)[:, 0]
    check(F.nll_loss(t(x), t(classes), t(weight), reduction="sum"), -(taken * weight[classes]).sum())
    check(F.nll_loss(t(x), t(classes), t(weight)), -(taken * weight[classes]).sum() / weight[classes].sum())


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_squares_are_one_node(reduction):
    x, y = t(normal(3, 2)).requires_grad_(), t(normal(3, 2)).requires_grad_()
    node = F.mse_loss(x, y, reduction=reduction).grad_fn
    assert node.name() == "MseLossBackward0"
    assert all(before.variable is leaf for (before, _), leaf in zip(node.next_functions, (x, y), strict=True))


def test_squares_of_nothing_and_of_many_rows():
    assert np.isnan(F.mse_loss(t(np.ones((0, 2))), t(np.ones((0, 2)))).item())
    many, one = normal(4, 3), normal(3)
    assert_allclose(func.vmap(F.mse_loss, (0, None))(t(many), t(one)), ((many - one) ** 2).mean(1))


def test_a_loss_of_no_class_is_nan_and_has_no_slope():
    x = t(normal(2, 3)).requires_grad_()
    loss = F.cross_entropy(x, t(np.array([-100, -100])))
    loss.backward()
    assert np.isnan(loss.item())
    assert not x.grad.any()


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_a_loss_of_zero_has_no_minus_sign(zero, reduction):
    loss = F.nll_loss(t(np.full((3, 4), zero)), t([0, 1, 2]), reduction=reduction)
    assert math.copysign(1, loss.item()) == 1


def test_the_loss_of_classes_can_be_mapped():
    x, classes = normal(3, 2, 4), np.array([1, 3])
    mapped = func.vmap(lambda a: F.cross_entropy(a, t(classes)))(t(x)).numpy()
    assert_allclose(mapped, [F.cross_entropy(t(part), t(classes)).item() for part in x])


def test_likelihoods():
    p, q = softmax(normal(3)), softmax(normal(3))
    check(F.kl_div(t(np.log(q)), t(p), reduction="sum"), (p * np.log(p / q)).sum())
    assert F.kl_div(t(np.log(q)), t([0.0, 0.5, 0.5]), reduction="none")[0].item() == 0
