"""Torch functions that need a graph for their values: they differentiate, register hooks or retain gradients."""

import numpy as np
import pytest

from gradcli.check.declare import check_gradient

pytestmark = pytest.mark.framework("torch")
X = np.array([0.3, -0.7, 1.1])


def forces(x):
    import torch

    return -torch.autograd.grad((x**3).sum() + x.prod(), x, create_graph=True)[0]


def detached_forces(x):
    """Forces that are detached from x."""
    import torch

    return x - torch.autograd.grad((x**3).sum(), x)[0]


def retaining(x):
    y = x**2
    y.retain_grad()
    return y.sum()


def hooked(factor):
    def f(x):
        y = 2 * x
        y.register_hook(lambda g: g * factor)
        return (y**2).sum()

    return f


@pytest.mark.parametrize(
    ("f", "verdict"),
    [(forces, "pass"), (retaining, "pass"), (hooked(1.0), "pass"), (hooked(1.5), "fail"), (detached_forces, "fail")],
    ids=["forces", "retained", "hook", "hook that scales", "detached forces"],
)
def test_functions_that_need_a_graph_are_checked(f, verdict):
    report = check_gradient(f, at={"x": X}, engine="torch")
    assert report.verdict == verdict, report


def test_a_compiled_module_has_the_inputs_of_the_original():
    import torch

    torch.manual_seed(0)
    module = torch.compile(torch.nn.Linear(3, 2), backend="eager")
    assert check_gradient(module, at={"input": X}).verdict == "pass"


@pytest.mark.parametrize("compiles", [False, True])
def test_compiled_functions_have_no_forward_mode(compiles):
    """Compiled kernels silently drop tangents, so a product would be 0."""
    torch = pytest.importorskip("torch")
    from gradcli.claims.adapters.torch import Adapter

    def sine(x):
        return 2 * torch.sin(x)

    compiled = torch.compile(sine, backend="aot_eager")
    function = (lambda x: compiled(x) + x) if compiles else sine
    assert Adapter.of(function, {"x": X}, "sine", False).capabilities.push is not compiles
    assert check_gradient(function, at={"x": X}, engine="torch").verdict == "pass"
