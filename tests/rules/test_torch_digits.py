"""Float32 in scripts for PyTorch has PyTorch's last digits: values and gradients, bit by bit.

The expected bits are what PyTorch 2.13 printed on a processor with AVX-512: where PyTorch is installed,
`python -m tests.rules.test_torch_digits` writes them again.
"""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import mpmath
import numpy as np
import pytest

import gradcli
from gradcli.rules import entry
from gradcli.rules.small_products import small_product
from gradcli.rules.torch_digits import use_torch_digits
from gradcli.rules.torch_forms import FORMS, ONCE
from gradcli.rules.vectors import FEW

BITS = Path(__file__).with_name("pytorch_bits.json")
NUMBERS = ((np.arange(30, dtype=np.float32) * np.float32(7919) % np.float32(997)) / np.float32(125.7) - 4).astype("f")
COTANGENT = np.cos(np.arange(30, dtype=np.float32)).astype("f")
POSITIVE = np.abs(NUMBERS) + np.float32(0.03)
MANY = np.concatenate([NUMBERS, NUMBERS[:2] + np.float32(1.1)])
ROWS = NUMBERS.reshape(3, 10)
LONG = np.concatenate([NUMBERS, NUMBERS[::-1] * np.float32(0.7), NUMBERS[:14]]).reshape(2, 37)


def functional(name, **options):
    return lambda lib, x: getattr(lib.nn.functional, name)(x, **options)


def plain(name, *args, **options):
    return lambda lib, x: getattr(lib, name)(x, *args, **options)


def layer(rows, width, height):
    """A linear layer, the weight, the bias and the rows taken from one vector, and the numbers for that."""
    ends = height * width, height * (width + 1)

    def function(lib, x):
        weight, bias = x[: ends[0]].reshape(height, width), x[ends[0] : ends[1]]
        return lib.nn.functional.linear(x[ends[1] :].reshape(rows, width), weight, bias)

    return function, np.sin(np.arange(ends[1] + rows * width) ** 1.1).astype("f")


CASES = {
    "log": (plain("log"), POSITIVE),
    "log2": (plain("log2"), POSITIVE),
    "log10": (plain("log10"), POSITIVE),
    "sqrt": (plain("sqrt"), POSITIVE),
    "sin": (plain("sin"), NUMBERS),
    "cos": (plain("cos"), NUMBERS * np.float32(31.7)),
    "atan": (plain("atan"), NUMBERS),
    "sigmoid": (plain("sigmoid"), NUMBERS),
    "silu": (functional("silu"), NUMBERS),
    "softplus": (functional("softplus", beta=0.7), MANY),
    "logsigmoid": (functional("logsigmoid"), NUMBERS),
    "elu": (functional("elu", alpha=0.7), MANY),
    "selu": (functional("selu"), MANY),
    "celu": (functional("celu", alpha=0.7), MANY),
    "hardswish": (functional("hardswish"), NUMBERS),
    "softsign": (functional("softsign"), NUMBERS),
    "softmax of rows": (functional("softmax", dim=1), ROWS),
    "softmax of long rows": (functional("softmax", dim=1), LONG),
    "softmax of a row": (functional("softmax", dim=0), NUMBERS[:5]),
    "softmax of columns": (functional("softmax", dim=0), ROWS),
    "log_softmax of rows": (functional("log_softmax", dim=1), ROWS),
    "log_softmax of columns": (functional("log_softmax", dim=0), ROWS),
    "norm": (lambda lib, x: x.norm(), NUMBERS),
    "norm of rows": (lambda lib, x: x.norm(dim=1), ROWS),
    "norm of columns": (lambda lib, x: x.norm(dim=0), ROWS),
    "normalize": (functional("normalize", dim=1), ROWS),
    "var": (lambda lib, x: x.var(1), ROWS),
    "std": (lambda lib, x: x.std(), NUMBERS),
    "cumsum": (lambda lib, x: x.cumsum(0), NUMBERS),
    "cube": (lambda lib, x: x**3, NUMBERS),
    "fourth power": (lambda lib, x: x**4, MANY),
    "power 1.7": (lambda lib, x: x**1.7, POSITIVE[:9]),
    "powers": (lambda lib, x: (x * x + 0.1) ** x, np.concatenate([MANY, NUMBERS[:5]])),
    "powers of 3": (lambda lib, x: 3.0**x, MANY),
    "1 / x^2": (lambda lib, x: x**-2, POSITIVE),
    "x / 3": (lambda lib, x: x / 3, NUMBERS),
    "quotient": (lambda lib, x: x.sin() / (x * x + 1), NUMBERS),
    "layer": layer(20, 4, 8),
    "layer with one output": layer(6, 5, 1),
    "layer with one input": layer(7, 1, 2),
    "layer for few rows": layer(4, 2, 8),
    "layer for one row": layer(1, 3, 5),
    "long layer": layer(9, 40, 6),
    "product of matrices": (lambda lib, x: x @ x.T[:, :2], ROWS),
    "logits": (lambda lib, x: lib.nn.functional.binary_cross_entropy_with_logits(x, x.detach().cos().abs()), NUMBERS),
    "cross entropy": (
        lambda lib, x: lib.nn.functional.cross_entropy(x, lib.tensor([3, 9, 0])),
        ROWS,
    ),
    "cross entropy of many": (
        lambda lib, x: lib.nn.functional.cross_entropy(x, lib.tensor([0, 1] * 20)),
        np.outer(np.linspace(-2, 2, 40), [1, 0.3]).astype("f"),
    ),
}


def computed(lib, function, x) -> dict[str, list[str]]:
    """The bits of a function's values, and of the gradient for fixed cotangents."""
    leaf = lib.tensor(x, requires_grad=True)
    y = function(lib, leaf)
    y.backward(lib.tensor(np.resize(COTANGENT, tuple(y.shape))))
    found = {"values": y.detach().numpy(), "gradient": leaf.grad.numpy()}
    return {
        key: [f"{bits:08x}" for bits in np.ascontiguousarray(a).reshape(-1).view("u4")] for key, a in found.items()
    }


@pytest.fixture
def as_in_pytorch():
    use_torch_digits(True)
    yield
    use_torch_digits(False)


@pytest.mark.parametrize("name", CASES)
def test_all_bits_are_those_of_pytorch(name, as_in_pytorch):
    assert computed(gradcli, *CASES[name]) == json.loads(BITS.read_text())[name]


EXACT = {
    "exp": mpmath.exp,
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log1p": mpmath.log1p,
    "tanh": mpmath.tanh,
    "sinh": mpmath.sinh,
    "arctan": mpmath.atan,
    "log10": mpmath.log10,
}


@pytest.mark.parametrize("name", EXACT)
def test_functions_are_rounded_once(name, as_in_pytorch):
    exact = np.array([EXACT[name](mpmath.mpf(float(x))) for x in POSITIVE], np.float64).astype("f")
    assert entry(name).forward(POSITIVE).tolist() == exact.tolist()


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 89.0, -89.0, 300.0, -300.0, 3e38, 88.5], "f")


SPECIAL = np.tile(SPECIAL, 3)  # in vectors, and some singly
UNARY = [n for n in sorted({*ONCE, *FORMS}) if entry(n).kind == "elementwise" and entry(n).arity == 1]


@pytest.mark.parametrize("name", UNARY)
def test_special_values_stay_what_they_are(name, as_in_pytorch):
    primitive = entry(name)
    numbers = SPECIAL[np.float32(3e38) != SPECIAL] if name == "hardswish" else SPECIAL  # six times that is too much
    (x,), params = primitive.bind(numbers) if primitive.bind else ((numbers,), {})
    with np.errstate(all="ignore"):
        found = primitive.forward(x, **params)
        use_torch_digits(False)
        wanted = primitive.forward(x.astype(np.float64), **params).astype("f")
    np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-36)
    assert found.dtype == np.float32


@pytest.mark.parametrize("exponent", [0.0, 1.0, 0.7, -1.5, 5.0, 4.0, -3.0, np.inf, -np.inf, np.nan])
def test_powers_of_special_values(exponent, as_in_pytorch):
    both = np.concatenate([SPECIAL, -SPECIAL])
    with np.errstate(all="ignore"):
        found = entry("power").forward(both, np.full_like(both, exponent))
        wanted = np.power(both.astype(np.float64), np.float32(exponent)).astype("f")
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "shape", itertools.product((1, 2, 5, 9, 16, 40), (1, 2, 7, 17, 18, 60, 500), (1, 2, 3, 11, 20))
)
def test_small_products_are_accurate(shape):
    rows, inner, columns = shape
    x, y = np.resize(NUMBERS, (rows, inner)), np.resize(POSITIVE, (inner, columns))
    known = 0
    for left in (x, np.asfortranarray(x)):
        for right in (y, np.asfortranarray(y)):
            found = small_product(left, right)
            known += found is not None
            if found is not None:
                assert found.shape == (rows, columns)
                np.testing.assert_allclose(found, x.astype("d") @ y, rtol=2e-5, atol=2e-5 * inner)
    assert known or inner > 383 or rows == 1 or columns == 1


@pytest.mark.parametrize("width", [1, 5, 15, 16, 17, 31, 32, 100])
def test_softmax_is_accurate_at_all_widths(width, as_in_pytorch):
    x = np.resize(NUMBERS, (2, 3, width)) * np.linspace(0.5, 2, width, dtype="f")
    x[0, 1, width // 2] = -np.inf if width > 1 else 0
    for axis in (-1, -2):
        for name in ("softmax", "log_softmax"):
            found = entry(name).function(x, axis=axis)
            with np.errstate(all="ignore"):
                wanted = entry(name).function(x.astype(np.float64), axis=axis)
            np.testing.assert_allclose(found, wanted, rtol=3e-6, atol=2e-6)
            assert found.dtype == np.float32


@pytest.mark.parametrize("size", [1, 3, 4, 7, 8, 13, 16, 50])
def test_norms_are_accurate_at_all_sizes(size, as_in_pytorch):
    x = np.resize(NUMBERS, (2, size))
    for axis in (None, 0, 1):
        wanted = np.linalg.norm(x.astype(np.float64), axis=axis) if axis is not None else math.hypot(*x.reshape(-1))
        np.testing.assert_allclose(entry("norm").function(x, axis=axis), wanted, rtol=1e-6)


def test_other_numbers_are_left_alone(as_in_pytorch):
    many, double = np.full(FEW, 0.3, "f"), NUMBERS.astype(np.float64)
    assert gradcli.exp(gradcli.tensor(many)).numpy().tolist() == np.exp(many).tolist()
    assert gradcli.tanh(gradcli.tensor(double)).numpy().tolist() == np.tanh(double).tolist()
    assert entry("softmax").function(ROWS, axis=(0, 1)).sum() == pytest.approx(1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [7, FEW - 1, FEW])
def test_gradients_of_pairs_are_right_for_all_types_and_sizes(size, dtype, as_in_pytorch):
    x, y = (np.resize(a, size).astype(dtype) for a in (POSITIVE, NUMBERS))
    power, quotient = x**y, y / x
    for function, (gx, gy) in {
        "power": (y * x ** (y - 1), power * np.log(x)),
        "divide": (-quotient / x, 1 / x),
    }.items():
        p, q = gradcli.tensor(x, requires_grad=True), gradcli.tensor(y, requires_grad=True)
        (p**q if function == "power" else q / p).backward(gradcli.ones(size, dtype=getattr(gradcli, dtype)))
        np.testing.assert_allclose(p.grad.numpy(), gx, rtol=1e-4)
        np.testing.assert_allclose(q.grad.numpy(), gy, rtol=1e-4, atol=1e-6)


def test_second_derivatives_and_batches_go_the_usual_way(as_in_pytorch):
    x = gradcli.tensor(NUMBERS[:3], requires_grad=True)
    for function in (gradcli.tanh, gradcli.sigmoid, gradcli.log, gradcli.nn.functional.silu):
        (first,) = gradcli.autograd.grad(function(x.abs()).sum(), x, create_graph=True)
        (second,) = gradcli.autograd.grad(first.sum(), x)
        wanted = gradcli.func.hessian(lambda v, f=function: f(v.abs()).sum())(gradcli.tensor(NUMBERS[:3].astype("d")))
        np.testing.assert_allclose(second.numpy(), np.diag(wanted.numpy()), rtol=2e-5, atol=1e-6)
    rows = gradcli.func.jacrev(lambda v: gradcli.softmax(v, -1))(x.detach())
    exact = gradcli.func.jacrev(lambda v: gradcli.softmax(v, -1))(gradcli.tensor(NUMBERS[:3].astype("d")))
    np.testing.assert_allclose(rows.numpy(), exact.numpy(), rtol=1e-5, atol=1e-7)


def test_afterwards_everything_is_as_before():
    before = {name: dict(vars(entry(name))) for name in {*ONCE, *FORMS}}
    use_torch_digits(True)
    assert entry("exp").forward is not before["exp"]["forward"]
    use_torch_digits(True)
    use_torch_digits(False)
    assert {name: dict(vars(entry(name))) for name in before} == before
    assert gradcli.exp(gradcli.tensor(NUMBERS)).numpy().tolist() == np.exp(NUMBERS).tolist()


if __name__ == "__main__":
    import torch

    lines = (f"{json.dumps(name)}: {json.dumps(computed(torch, *case))}" for name, case in CASES.items())
    BITS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
