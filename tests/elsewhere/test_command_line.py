"""Functions of frameworks on the command line."""

import json

import pytest

from tests.command import gradcli

FILES = {
    "net.py": """
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2
    @staticmethod
    def backward(ctx, g):
        return 2.02 * ctx.saved_tensors[0] * g

class Once(Square):
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g

class Second(Square):
    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0].detach() * g

def f(x):
    return Square.apply(x).sum()
def once(x):
    return Once.apply(x).sum()
def second(x):
    return Second.apply(x).sum()
def plain(x, n: int = 2):
    return (x**n).sum()
def loss(params, x):
    return (torch.tanh(x @ params["w"][0]) * params["b"]).sum()
net = torch.nn.Linear(2, 1)
""",
    "jx.py": """
import jax
import jax.numpy as jnp
import gradcli

@gradcli.check(at={"x": [1.0, 2.0]})
def f(x):
    return jnp.sin(x).sum()

gf = jax.grad(f)
""",
    "hips.py": """
import autograd.numpy as np
from autograd.extend import defvjp, primitive

@primitive
def square(x):
    return x * x

defvjp(square, lambda ans, x: lambda g: -2 * g * x)

def f(x):
    return np.sum(square(x))
""",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


CASES = [
    ("torch", "gradcheck net.py:plain x=[1,2] n=3 --order 2", 0),
    ("torch", "gradcheck net.py:f x=[1,2] --order 2", 0),
    ("torch", "gradcheck net.py:once x=[1,2] --order 2", 3),
    ("torch", "gradcheck net.py:second x=[1,2]", 0),
    ("torch", "gradcheck net.py:second x=[1,2] --order 2", 1),
    ("jax", "gradcheck jx.py:f x=[1,2] --order 2", 0),
    ("torch", "gradcheck net.py:f x=[1,2]", 1),
    ("torch", "gradcheck net.py:Square x=[1,2]", 1),
    ("torch", "gradcheck net.py:plain x=[1,2] n=3", 0),
    ("torch", "gradcheck net.py:plain x=[1,2] --engine gradcli", 0),
    ("torch", "gradcheck net.py:f x=[1,2] --engine jax", 3),
    ("torch", "gradcheck net.py:net input=[[1,2]]", 0),
    ("torch", "gradcheck net.py:net input=[[1,2]] --dtype float32", 0),
    ("torch", "gradcheck net.py:loss params.w[0]=[[1,2],[0,1]] params.b=[1,3] x=[1,2]", 0),
    ("torch", "gradcheck net.py:f", 2),
    ("torch", "grad net.py:f x=[1,2] --check", 1),
    ("torch", "jacobian net.py:f x=[1,2] --check", 1),
    ("torch", "hvp net.py:second x=[1,2] -t x=[1,0] --check", 1),
    ("jax", "gradcheck jx.py", 0),
    ("jax", "gradcheck jx.py:f x=[1,2] --grad gf", 0),
    ("autograd", "gradcheck hips.py:f x=[1,2]", 1),
    ("autograd", "gradcheck hips.py:f x=[1,2] --engine gradcli", 3),
]


ALIKE = {
    *("gradcheck net.py:f x=[1,2] --order 2", "gradcheck net.py:second x=[1,2]", "jacobian net.py:f x=[1,2] --check"),
    *("hvp net.py:second x=[1,2] -t x=[1,0] --check", "gradcheck net.py:plain x=[1,2] n=3", "gradcheck net.py:f"),
    *("gradcheck net.py:plain x=[1,2] --engine gradcli", "gradcheck net.py:net input=[[1,2]] --dtype float32"),
}
"""Those that go the way of others."""


@pytest.mark.parametrize(
    ("framework", "words", "code"),
    [
        pytest.param(
            name,
            words,
            code,
            marks=[pytest.mark.framework(name), *([pytest.mark.nightly] if words in ALIKE else [])],
            id=words,
        )
        for name, words, code in CASES
    ],
)
def test_checks(folder, framework, words, code):
    assert (done := gradcli(*words.split(), cwd=folder, frameworks=(framework,))).returncode == code, done


@pytest.mark.framework("torch")
def test_the_report_names_precision_and_the_guilty_function(folder):
    done = gradcli("gradcheck", "net.py:f", "x=[1,2]", "--json", cwd=folder, frameworks=("torch",))
    (check,) = json.loads(done.stdout)["checks"]
    assert check["notes"] == ["PyTorch in float64"]
    assert "SquareBackward" in check["blame"]
    assert "return 2.02" in check["blame"]
    assert check["diagnosis"][0]["kind"] == "factor"


@pytest.mark.parametrize(
    ("framework", "line", "printed"),
    [
        ("torch", "grad net.py:f x=[1,2]", "x[0]\t2.02\nx[1]\t4.04\n"),
        ("torch", "hvp net.py:plain x=[1,2] n=3 -t x=[1,0]", "x[0]\t6.0\nx[1]\t0.0\n"),
        ("jax", "jvp jx.py:f x=[0,0] -t x=[1,2]", "out\t3.0\n"),
        ("jax", "vjp jx.py:f x=[0,0] -g 2", "x[0]\t2.0\nx[1]\t2.0\n"),
        ("jax", "jacobian jx.py:f x=[0,0]", "out/x[0]\t1.0\nout/x[1]\t1.0\n"),
    ],
)
@pytest.mark.framework("torch")
@pytest.mark.framework("jax")
def test_products_are_those_of_the_framework(folder, framework, line, printed):
    assert gradcli(*line.split(), cwd=folder, frameworks=(framework,)).stdout == printed
