"""vmap of functions that take gradients, draw random numbers, branch on values, or are programs."""

import numpy as np
import pytest

import gradcli
from gradcli.claims.open import load_program
from gradcli.func import grad, vmap
from gradcli.program.target import Target
from gradcli.tape.tensor import Tensor


def test_vmap_maps_over_the_vectors_of_a_backward_pass():
    x = gradcli.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    rows = vmap(lambda v: gradcli.autograd.grad(y, x, v)[0])(gradcli.eye(3))
    assert rows.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]


@pytest.mark.parametrize(("randomness", "count"), [("different", 100), ("same", 2)])
def test_vmap_draws_different_numbers_only_if_asked_to(randomness, count):
    drawn = vmap(lambda x: x + gradcli.rand(2), randomness=randomness)(gradcli.zeros(50))
    assert len(set(drawn.reshape(-1).tolist())) == count


# programs of the language, and their second derivatives with respect to x
SECOND = {
    "x / y": lambda x, y: 0 * x,
    "y / x": lambda x, y: 2 * y / x**3,
    "x**2 * sin(y)": lambda x, y: 2 * np.sin(y),
    "where(x > y, x**3, x*y)": lambda x, y: np.where(x > y, 6 * x, 0),
    "x**3 if x > y else x*y": lambda x, y: np.where(x > y, 6 * x, 0),
    "where(x, x**2, y)": lambda x, y: 2 + 0 * x,
    "sum([x**2, y, y])": lambda x, y: 2 + 0 * x,
}


@pytest.mark.parametrize("size", [100, 20_000])  # below and above the size from which memory is reused
@pytest.mark.parametrize("text", SECOND)
def test_second_derivatives_of_many_rows_at_once(text, size):
    program = load_program(Target(text, inline=True))
    call, values = program.as_function({"x": np.array(1.0), "y": np.array(2.0)})
    x, y = np.random.default_rng(0).uniform(0.5, 2, (2, size))
    names, wanted = list(values), SECOND[text](x, y)

    def mapped(*tensors):
        calls.append(None)
        return call(*tensors)

    calls = []
    place = names.index("x")
    tensors = [Tensor._wrap({"x": x, "y": y}[name], None) for name in names]
    found = vmap(grad(grad(mapped, place), place))(*tensors)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-13, atol=1e-13)
    assert len(calls) == 1, "called row by row"
    fixed = vmap(grad(call, place), tuple(0 if name == "x" else None for name in names))
    assert fixed(*(t if name == "x" else t[0] for name, t in zip(names, tensors, strict=True))).shape == (size,)
