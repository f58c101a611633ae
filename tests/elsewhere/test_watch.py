"""Rules of PyTorch, JAX and HIPS autograd are judged where a command used them."""

import sys

import pytest

from tests.command import gradcli, run

SCRIPTS = {
    "torch": (
        """
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x**2

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.scale * ctx.saved_tensors[0] * g, None

class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask):
        ctx.save_for_backward(x, mask)
        return torch.exp(x) * mask

    @staticmethod
    def backward(ctx, g):
        return torch.exp(ctx.saved_tensors[0]) * g, None

x = torch.linspace(0.1, 1, 5, requires_grad=True)
(Square.apply(x, 3.0).sum() + Masked.apply(x, torch.linspace(0.2, 0.9, 5)).sum()).backward()
print(x.grad.shape)
""",
        {("Square", "4")},
        {("Masked", "15")},
    ),
    "jax": (
        """
import jax
import jax.numpy as jnp

@jax.custom_vjp
def product(x, y):
    return jnp.sin(x) * y

product.defvjp(lambda x, y: (product(x, y), (x, y)), lambda r, g: (g * jnp.cos(r[0]) * r[1], g * jnp.sin(r[0])))

@jax.custom_jvp
def softplus(x):
    return jnp.log1p(jnp.exp(x))

@softplus.defjvp
def softplus_jvp(primals, tangents):
    return softplus(primals[0]), tangents[0] * jnp.exp(primals[0]) / (1.1 + jnp.exp(primals[0]))

print(jax.grad(product)(0.3, 0.5).round(3), jax.grad(lambda x: softplus(x).sum())(jnp.arange(3.0)).shape)
""",
        {("product", "5")},
        {("softplus", "11")},
    ),
    "autograd": (
        """
import autograd.numpy as np
from autograd import grad
from autograd.extend import defvjp, primitive

@primitive
def logsumexp(x):
    return np.max(x) + np.log(np.sum(np.exp(x - np.max(x))))

defvjp(logsumexp, lambda ans, x: lambda g: g * np.exp(x - ans))

@primitive
def cube(x):
    return x**3

defvjp(cube, lambda ans, x: lambda g: g * 3 * x)
print(grad(logsumexp)(np.array([1.0, 2.0, 3.0])).round(3), grad(cube)(2.0))
""",
        {("logsumexp", "6")},
        {("cube", "12")},
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.framework(name)) for name in SCRIPTS], ids=list(SCRIPTS)
)
def test_rules(name, tmp_path):
    source, right, wrong = SCRIPTS[name]
    (tmp_path / "use.py").write_text(source)
    alone = run([sys.executable, "use.py"], cwd=tmp_path)
    done = gradcli("watch", "--timeout", "100", "-f", "tsv", "--", sys.executable, "use.py", cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    assert (done.stdout, done.returncode) == (alone.stdout, 1), done.stderr
    rows = [line.split("\t") for line in done.stderr.splitlines()]
    assert {(row[2], row[4]) for row in rows if row[0] == "pass"} == right, done.stderr
    assert {(row[2], row[4]) for row in rows if row[0] == "fail"} == wrong, done.stderr
