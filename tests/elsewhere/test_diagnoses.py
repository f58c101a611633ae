"""Mistakes in rules of PyTorch and JAX, by the words and the line that name them."""

import json

import pytest

from tests.command import gradcli

TORCH = """import torch


class Base(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.nn.functional.silu(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sigmoid(x)


class Derived(Base):
    pass


class Right(Base):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return g * s * (1 + x * (1 - s))
"""
JAX = """import jax
import jax.numpy as jnp


@jax.custom_vjp
def tanh(x):
    return jnp.tanh(x)


tanh.defvjp(lambda x: (jnp.tanh(x), x), lambda x, g: (g,))
"""


def report_of(folder, name, text, target, frameworks):
    (folder / name).write_text(text)
    words = ("gradcheck", f"{name}:{target}", "--shape", "x=5")
    done = gradcli(*words, "-f", "json", cwd=folder, frameworks=frameworks)
    (check,) = json.loads(done.stdout)["checks"]
    concise = gradcli(*words, "-f", "concise", cwd=folder, frameworks=frameworks).stdout
    return check, concise


def test_an_inherited_backward_is_named_by_its_own_line(tmp_path):
    pytest.importorskip("torch")
    check, concise = report_of(tmp_path, "op.py", TORCH, "Derived", ("torch",))
    assert check["diagnosis"][0]["rule"] == "dropped-term"
    assert "x * s (1 - s), s = sigmoid(x) is dropped" in check["diagnosis"][0]["text"]
    assert concise.startswith("op.py:13:")
    assert report_of(tmp_path, "op.py", TORCH, "Right", ("torch",))[0]["verdict"] == "pass"


def test_a_forgotten_activation_in_jax(tmp_path):
    pytest.importorskip("jax")
    check, _ = report_of(tmp_path, "op.py", JAX, "tanh", ("jax",))
    assert check["diagnosis"][0]["rule"] == "activation-derivative"
    assert "the derivative of tanh" in check["diagnosis"][0]["text"]
