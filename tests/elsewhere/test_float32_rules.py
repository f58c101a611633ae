"""Right rules in float32, whose small entries are what is left of large terms; and wrong ones that look alike."""

import numpy as np
import pytest

import gradcli

torch = pytest.importorskip("torch")


def rule(forward, backward):
    """Return an autograd.Function of one tensor. backward: of the incoming gradient and the input."""

    class Rule(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, g):
            return backward(g, *ctx.saved_tensors)

    return Rule.apply


def scale(x, eps):
    return torch.sqrt(x.var(unbiased=False) + eps)


def standardise(eps, wrong=1.0):
    def backward(g, x):
        s = scale(x, eps)
        y = (x - x.mean()) / s
        return (g - wrong * g.mean() - y * (g * y).mean()) / s

    return rule(lambda x: (x - x.mean()) / scale(x, eps), backward)


def unit(wrong=1.0):
    def backward(g, x):
        u = x / x.norm()
        return (g - wrong * u * (u * g).sum()) / x.norm()

    return rule(lambda x: x / x.norm(), backward)


def verdict(function, x):
    return gradcli.check_gradient(function, at={"x": torch.tensor(x, dtype=torch.float32)}).verdict


@pytest.mark.parametrize("seed", range(8))
def test_small_entries_are_compared_within_the_rounding_of_their_terms(seed):
    x = np.random.default_rng(seed).uniform(0.3, 1.5, 5)
    assert verdict(standardise(0.0), x) == "pass"
    assert verdict(standardise(0.0, wrong=1.001), x) == "fail"


@pytest.mark.parametrize("make", [lambda wrong: standardise(1e-5, wrong), unit], ids=["layer norm", "unit vector"])
def test_layouts_are_not_tried_with_equal_numbers(make):
    """At equal numbers, both the value and the gradient of a normalised vector are rounding."""
    x = np.random.default_rng(1).uniform(0.3, 1.5, 64)
    assert verdict(make(1.0), x) == "pass"
    assert verdict(make(1.01), x) == "fail"
