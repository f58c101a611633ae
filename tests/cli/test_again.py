"""The command after `again:` repeats the check that failed."""

import re

import numpy as np
import pytest

from ..command import shell

FILES = {
    "grads.py": """
import gradcli

def f(x, y=2.0):
    return (x**2).sum() * y

def g(x, y=2.0):
    return 2 * x * y, -1.0

def b(cotangent, x, y=2.0):
    return cotangent * 2 * x * y, -cotangent

@gradcli.check(at={"x": (3,)}, grad=lambda x: 2 * x + (x > 1), samples=9)
def wrong(x):
    return (x**2).sum()

@gradcli.check(at={"x": (3,)}, grad=lambda x: -2 * x)
def wrong_too(x):
    return (x**2).sum()
""",
    "net.py": """
import sys
import torch

class Op(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3

def f(x):
    return Op.apply(x).sum()
""",
    "script.py": """
import sys
import gradcli
from net import Op

a = gradcli.tensor([1.0, float(sys.argv[1])], requires_grad=True)
b = Op.apply(a).sum()
""",
}
COMMANDS = [
    "grads.py:f --grad g --shape x=3 y=2 --wrt y --seed 4 --rtol 1e-3 --eps 1e-5 --samples 5",
    "grads.py:f --grad g x='[1, 2]' y=2 --wrt y",
    "grads.py:f --vjp b x=@x.npy y=3 --fast --seed 7",
    "grads.py:f --vjp b 'x=randn(20)' --shape y= --samples 3 --seed 2",
    "grads.py -k wrong",
    "grads.py -k wrong_too --atol 1e-3 --seed 3",
    "net.py:f --torch --dtype float32 'x=linspace(1, 2, 20)'",
    "script.py --torch --order 1 -- 5",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_again_repeats_the_check(command, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "x.npy", np.linspace(1, 3, 40))

    def printed(line):
        before, dashes, arguments = line.partition(" -- ")
        return re.sub(r"in \d+\.\d+ s", "", shell(f"{before} -f table{dashes}{arguments}", tmp_path).stdout)

    first = printed(f"gradcli gradcheck {command}")
    again = re.search(r"    again: (.*)\n", first)
    assert again is not None, first
    assert printed(again[1]) == first
