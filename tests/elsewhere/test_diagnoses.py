"""Diagnoses of mistakes in PyTorch and JAX rules: their text, and the line that they name."""

import json

import numpy as np
import pytest

from gradcli import check_gradient
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


def test_an_inherited_backward_is_reported_at_its_own_line(tmp_path):
    pytest.importorskip("torch")
    check, concise = report_of(tmp_path, "op.py", TORCH, "Derived", ("torch",))
    assert check["diagnosis"][0]["rule"] == "dropped-term"
    assert "the claim plus x * sigmoid(x) * (1 - sigmoid(x))" in check["diagnosis"][0]["text"]
    assert concise.startswith("op.py:13:")
    assert report_of(tmp_path, "op.py", TORCH, "Right", ("torch",))[0]["verdict"] == "pass"


def test_a_forgotten_activation_derivative_in_jax_is_named(tmp_path):
    pytest.importorskip("jax")
    check, _ = report_of(tmp_path, "op.py", JAX, "tanh", ("jax",))
    assert check["diagnosis"][0]["rule"] == "activation-derivative"
    assert "the derivative of tanh" in check["diagnosis"][0]["text"]


RULES = """import jax
import jax.numpy as jnp
from functools import partial


@jax.custom_vjp
def sine(x):
    return jnp.sin(x)


sine.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))


@jax.custom_jvp
def cube(x):
    return x**3


@cube.defjvp
def cube_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return x**3, 3 * x**2 * t


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def scaled(function, tree):
    return tree["w"] * function(tree["x"])


def scaled_bwd(function, tree, g):
    dx = g * tree["w"] * jnp.cos(tree["x"])
    return ({"w": FACTOR * g * function(tree["x"]), "x": dx},)


scaled.defvjp(lambda function, tree: (scaled(function, tree), tree), scaled_bwd)


@jax.custom_jvp
def square(x):
    return x**2


square.defjvps(lambda t, out, x: FACTOR * 2 * x * t)


@jax.jit
def vector(x):
    return (sine(x) + cube(x) + scaled(jnp.sin, {"x": x, "w": 2 * x})).sum()


def forward(x):
    return sine(cube(x)) + square(x)


def steps(x):
    return jax.lax.scan(lambda h, _: (square(sine(h)), h[0]), x, None, length=3)[1].sum()


def batch(x):
    return jax.vmap(lambda a: square(sine(a)))(x).sum()


def detached(x):
    return sine(x).sum() + (cube(x) * jax.lax.stop_gradient(x)).sum()
"""
BLAMED = {
    "vector": "custom_vjp of scaled: op.py:32\n    return ({",
    "forward": "custom_jvp of square: op.py:43\n    square.defjvps(",
    "steps": "custom_jvp of square: op.py:43\n    square.defjvps(",
    "batch": "custom_jvp of square: op.py:43\n    square.defjvps(",
    "detached": "",
}


@pytest.mark.parametrize("name", BLAMED)
def test_the_wrong_rule_inside_a_jax_function_is_named_within_the_budget(tmp_path, monkeypatch, name):
    pytest.importorskip("jax")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "op.py").write_text(RULES.replace("FACTOR", "1.1"))
    space: dict = {}
    exec(compile((tmp_path / "op.py").read_text(), "op.py", "exec"), space)
    report = check_gradient(space[name], at={"x": np.array([0.3, -0.8, 1.2])}, calls=500)
    assert report.verdict == "fail" and report.evidence.points <= 500
    expected = BLAMED[name] and f"there is a mistake in {BLAMED[name]}"
    assert (report.blame or "").startswith(expected) and bool(report.blame) == bool(expected)


def normalizing(through):
    """Return batch norm over all axes but the second; its backward goes only through the named statistics."""
    import torch

    axes = (0, 2)

    def forward(ctx, x, gain, bias):
        s = (x.var(axes, unbiased=False, keepdim=True) + 1e-5).sqrt()
        h = (x - x.mean(axes, keepdim=True)) / s
        ctx.save_for_backward(h, gain, s)
        return h * gain[:, None] + bias[:, None]

    def backward(ctx, g):
        h, gain, s = ctx.saved_tensors
        d = g * gain[:, None]
        lost = ("mean" in through) * d.mean(axes, keepdim=True)
        lost = lost + ("variance" in through) * h * (d * h).mean(axes, keepdim=True)
        return (d - lost) / s, (g * h).sum(axes), g.sum(axes)

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Normalizing", (torch.autograd.Function,), members).apply


NORM = {"x": np.random.default_rng(0).normal(size=(4, 2, 3)), "gain": np.array([1.5, 0.5]), "bias": np.ones(2)}


@pytest.mark.framework("torch")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("through", "words"),
    [("mean, variance", None), ("mean", "the variance"), ("variance", "the mean"), ("", "the mean and the variance")],
)
def test_missing_paths_through_statistics_are_named_even_inside_a_function(through, words, dtype):
    rule, at = normalizing(through), {name: x.astype(dtype) for name, x in NORM.items()}
    alone = check_gradient(rule, at=at, engine="torch")
    inside = check_gradient(lambda x, gain, bias: rule(x.sin(), gain, bias).pow(3).sum(), at=at, engine="torch")
    for report in (alone, inside):
        assert report.verdict == ("fail" if words else "pass")
        texts = [finding.text for finding in report.diagnosis]
        assert all(f"through {words} of" in text and "along the axes 0, 2" in text for text in texts)
        assert bool(texts) == bool(words)
    assert not words or inside.diagnosis[0].text.startswith("NormalizingBackward: argument 0: the path")


@pytest.mark.framework("jax")
@pytest.mark.parametrize(("right", "verdict"), [(True, "pass"), (False, "fail")])
def test_a_missing_sum_in_a_softmax_is_named_in_jax(right, verdict):
    import jax
    import jax.numpy as jnp

    rule = jax.custom_vjp(lambda x: jax.nn.softmax(x, 0))
    rule.defvjp(lambda x: (rule(x),) * 2, lambda p, g: (p * (g - (p * g).sum(0, keepdims=True) * right),))
    at = {"x": np.random.default_rng(0).normal(size=(4, 3))}
    for f in (rule, lambda x: (rule(2 * jnp.sin(x)) ** 2).sum()):
        report = check_gradient(f, at=at, engine="jax")
        assert report.verdict == verdict
        assert right or "the sum in softmax (or logsumexp)" in report.diagnosis[0].text


OPS = (
    TORCH
    + """

@torch.library.custom_op("gradcli_tests::cube", mutates_args=())
def cube(x: torch.Tensor) -> torch.Tensor:
    return x**3


cube.register_autograd(
    lambda ctx, g: g * ctx.saved_tensors[0] ** 2,
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


def total(x):
    return (x**2).sum()
"""
)
DECLARED = """import gradcli
from ops import Derived, cube, total

gradcli.check(Derived, at={"x": [0.5, 2.0]})
gradcli.check(cube, at={"x": [0.5, 2.0]})
gradcli.check(total, at={"x": [0.5, 2.0]}, grad=lambda x: x, engine="gradcli")
"""


def test_an_html_report_shows_the_source_of_what_was_checked(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "ops.py").write_text(OPS)
    (tmp_path / "declared.py").write_text(DECLARED)
    page = gradcli("gradcheck", "declared.py", "-f", "html", cwd=tmp_path, frameworks=("torch",)).stdout
    for text in ("class Derived(Base):", "def cube(x: torch.Tensor)", "def total(x):", "gradcli.check(total, at="):
        assert text in page
    assert page.count("<section><h3>Function") == 3 and page.count("<section><h3>Hand-written derivative") == 1


def cubed(saved):
    """Return x**3 whose backward gets x from `saved`."""
    import torch

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    def backward(ctx, g):
        return g * 3 * saved(torch, ctx.saved_tensors[0]) ** 2

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Cubed", (torch.autograd.Function,), members).apply


SAVED = {
    "right": lambda torch, x: x,
    "detached": lambda torch, x: x.detach(),
    "numpy": lambda torch, x: torch.from_numpy(x.detach().numpy().copy()),
}


@pytest.mark.framework("torch")
@pytest.mark.parametrize("saved", SAVED)
def test_a_second_derivative_that_is_silently_zero_is_named(saved):
    rule, at = cubed(SAVED[saved]), {"x": np.array([0.3, 0.8, -0.5])}
    for f in (rule, lambda x: (rule(x) * x.new_tensor([1, 2, 3])).sum(), lambda x: rule(x.sin()).sum()):
        assert check_gradient(f, at=at, engine="torch").verdict == "pass"
        report = check_gradient(f, at=at, engine="torch", order=2)
        assert report.verdict == ("pass" if saved == "right" else "fail")
        if saved != "right":
            assert report.diagnosis[0].kind == "zero" and "second derivative are zero" in report.diagnosis[0].text
            assert "CubedBackward" in report.blame


EMBED = """import torch


class Embed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w, idx):
        ctx.save_for_backward(idx)
        ctx.shape = w.shape
        return w[idx]

    @staticmethod
    def backward(ctx, g):
        (idx,) = ctx.saved_tensors
        gw = g.new_zeros(ctx.shape)
        gw[idx] += g
        return gw, None


WORDS = torch.tensor([0, 2, 0])


def of_words(w):
    return Embed.apply(w, WORDS)


def of_argument(w, idx):
    return Embed.apply(w, idx)
"""


@pytest.mark.parametrize("target", [["of_words"], ["of_argument", "--arg", "idx=[0, 2, 0]"]], ids=lambda x: x[0])
def test_gradients_assigned_to_repeated_indices_of_tensors_are_named(target, tmp_path):
    (tmp_path / "embed.py").write_text(EMBED)
    name, *options = target
    result = gradcli(
        "gradcheck", f"embed.py:{name}", "--shape", "w=4,3", "--wrt", "w", *options, "--json", cwd=tmp_path
    )
    (check,) = json.loads(result.stdout)["checks"]
    assert check["diagnosis"][0]["rule"] == "repeated-index"
