"""What a search from a function reaches: the user's tensors and modules, but not the framework's own code."""

import functools
from pathlib import Path

import pytest

import gradcli
from gradcli.user.frameworks import engine_of, framework_of, reachable_from

pytestmark = pytest.mark.framework("torch")


@pytest.fixture(scope="module")
def functions():
    torch = pytest.importorskip("torch")
    weight, layer = torch.ones(3), torch.nn.Linear(3, 1)

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * weight

        @staticmethod
        def backward(ctx, g):
            return g * weight

    class Loss:
        def total(self, x):
            return (x * weight).sum() + torch.zeros(())

    def plain(x):
        return (x * weight).sum()

    def wrapped(*args):
        return plain(*args)

    return {
        "plain": plain,
        "Function": Scaled.apply,
        "called Function": lambda x: Scaled.apply(x).sum(),
        "partial": functools.partial(plain),
        "wrapped": wrapped,
        "vmap": torch.vmap(plain),
        "compiled": torch.compile(plain),
        "without graph": torch.no_grad()(plain),
        "method": Loss().total,
        "layer": lambda x: layer(x) * weight,
        "forward of a layer": torch.nn.Sequential(layer).forward,
    }


NAMES = (
    *("plain", "Function", "called Function", "partial", "wrapped", "vmap", "compiled", "without graph", "method"),
    *("layer", "forward of a layer"),
)


@pytest.mark.parametrize("name", NAMES)
def test_the_users_tensors_are_reached_and_the_frameworks_code_is_not_searched(functions, name):
    import torch

    from gradcli.claims.adapters.torch import tensors_behind

    function = functions[name]
    assert framework_of(function) == "torch"
    is_layer = "layer" in name
    assert sum(isinstance(x, torch.nn.Module) for x in reachable_from(function)) == is_layer
    assert len(tensors_behind(function)) == (2 if name == "forward of a layer" else 1 + 2 * is_layer)
    home = str(Path(torch.__file__).parent)
    codes = [x for x in reachable_from(function) if hasattr(x, "__code__")]
    inside = [x for x in codes if x.__code__.co_filename.startswith(home)]
    assert len(inside) < 20, inside


@pytest.mark.framework("autograd")
def test_torchs_autograd_is_not_hips_autograd():
    """Even if both are loaded."""
    import autograd
    import torch

    def forces(x):
        return torch.autograd.grad((x**2).sum(), x)[0]

    def inside(x):
        import autograd.numpy as anp

        return anp.sum(x)

    assert framework_of(forces) == "torch"
    assert framework_of(inside) == "autograd"
    assert autograd not in list(reachable_from(forces))


def test_an_annotation_with_tensor_selects_torch_even_if_gradcli_is_imported():
    import torch

    names = {"torch": torch, "Tensor": torch.Tensor, "gradcli": gradcli}
    code = """
def plain(x):
    return (x * x).sum()
def of_class(x: Tensor):
    return (x * x).sum()
def of_attribute(x: "torch.Tensor", n: "int | None" = None):
    return (x * x).sum()
def returned(x) -> Tensor:
    return (x * x).sum()
"""
    exec(code, names)
    found = {name: engine_of(names[name], None) for name in ("plain", "of_class", "of_attribute", "returned")}
    assert found == {"plain": None, "of_class": "torch", "of_attribute": "torch", "returned": "torch"}


def test_a_class_named_in_the_code_may_have_descriptors():
    """An example is types.FunctionType, whose `__globals__` is a descriptor."""
    import torch

    names = {"Kind": type(lambda: None), "torch": torch}
    exec("def plain(x):\n    return torch.sum(x) if isinstance(x, Kind) else x", names)
    assert framework_of(names["plain"]) == "torch"
