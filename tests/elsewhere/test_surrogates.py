"""Gradients of PyTorch that replace the derivative on purpose: straight through roundings, and past detached values."""

import pytest

from gradcli import check_gradient

torch = pytest.importorskip("torch")


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, g):
        return g


class Clipped(Round):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1)


class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def quantized(x):
    return x + (torch.floor(8 * x) / 8 - x).detach()


STRAIGHT = {
    "a Function": lambda x: (Round.apply(x) ** 2).sum(),
    "a Function times x": lambda x: (x * Round.apply(x)).sum(),
    "a detached difference": lambda x: (torch.sin(x) * quantized(x)).sum(),
    "a matrix": lambda x: (x.reshape(2, 2) @ quantized(x).reshape(2, 2)).sum(),
    "half of it": lambda x: ((x + 0.5 * (x.round() - x).detach()) ** 2).sum(),
    "with a detached norm": lambda x: (x * Round.apply(x) / x.norm().detach()).sum(),
}
CUT_OFF = {
    "a value of 1": lambda x: (x * torch.exp(x - x.detach())).sum(),
    "a norm": lambda x: (x.exp() / x.norm().detach()).sum(),
    "a sign in a clamp": lambda x: (x.clamp(-1, 1) + (torch.sign(x) - x.clamp(-1, 1)).detach()).pow(3).sum(),
}
kept = {}


class Stale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        kept["x"] = x.detach()
        return x**2

    @staticmethod
    def backward(ctx, g):
        return 2 * g * kept["x"]


OTHERS = {
    "a value that is detached in vain": lambda x: Stale.apply(x).sum(),
    "a gradient that is cut": lambda x: (Clipped.apply(x) * x**2).sum(),
    "a wrong part": lambda x: (Halved.apply(x) * (x - x.detach() + 1)).sum(),
    "a wrong part at a rounding": lambda x: (Halved.apply(x) * Round.apply(x)).sum(),
}
AT = {"x": torch.tensor([0.3, 1.2, -2.4, 0.7], dtype=torch.float64).numpy()}


def rules(f):
    report = check_gradient(f, at=AT, engine="torch")
    assert not report.passed
    return {finding.rule for finding in report.diagnosis}, report


@pytest.mark.parametrize("name", STRAIGHT)
def test_straight_through_gradients_are_named(name):
    found, report = rules(STRAIGHT[name])
    assert found == {"straight-through"} and "--reference" in report.hint


@pytest.mark.parametrize("name", CUT_OFF)
def test_gradients_past_detached_values_are_named(name):
    found, report = rules(CUT_OFF[name])
    assert found == {"surrogate"} and "--reference" in report.hint


@pytest.mark.parametrize("name", OTHERS)
def test_other_wrong_gradients_are_not_straight_through(name):
    found, report = rules(OTHERS[name])
    assert "straight-through" not in found and "detach are constants" not in str(report.diagnosis)
