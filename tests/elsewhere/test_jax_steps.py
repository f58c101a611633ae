"""gradcli watch --loss on training runs of JAX, with a small optax that has the parts which watch uses."""

import pytest

from .test_steps import watch

pytest.importorskip("jax")
pytestmark = pytest.mark.framework("jax")

BASE = """
from typing import Any, NamedTuple
class GradientTransformation(NamedTuple):
    init: Any
    update: Any
class GradientTransformationExtraArgs(GradientTransformation):
    pass
class EmptyState(NamedTuple):
    pass
"""
MULTI_STEPS = """
from typing import Any, NamedTuple
import jax
from jax import numpy as jnp
class MultiStepsState(NamedTuple):
    mini_step: Any
    gradient_step: Any
    acc_grads: Any
class MultiSteps:
    def __init__(self, opt, every_k_schedule, use_grad_mean=True):
        self._opt, self._every_k_schedule = opt, lambda step: every_k_schedule
        mean = lambda grad, acc, *, n_acc: acc + (grad - acc) / (n_acc + 1)
        self._acc_update = mean if use_grad_mean else lambda grad, acc, *, n_acc: grad + acc
    def init(self, params):
        return MultiStepsState(jnp.zeros([], int), jnp.zeros([], int), jax.tree.map(jnp.zeros_like, params))
    def update(self, updates, state, params=None):
        acc = jax.tree.map(lambda g, a: self._acc_update(g, a, n_acc=state.mini_step), updates, state.acc_grads)
        steps, _ = jax.lax.cond(True, self._opt.update, self._opt.update, acc, (), params)
        emit = state.mini_step == self._every_k_schedule(state.gradient_step) - 1
        kept = jax.tree.map(lambda a: (1 - emit) * a, acc)
        mini = jnp.where(emit, 0, state.mini_step + 1)
        return jax.tree.map(lambda s: emit * s, steps), MultiStepsState(mini, state.gradient_step + emit, kept)
"""
FACADE = """
import jax
from optax._src.base import EmptyState, GradientTransformation
from optax.transforms._accumulation import MultiSteps
def sgd(rate):
    init = lambda params: (EmptyState(), EmptyState())
    return GradientTransformation(init, lambda g, state, params=None: (jax.tree.map(lambda x: -rate * x, g), state))
def apply_updates(params, updates):
    return jax.tree.map(lambda p, u: p + u, params, updates)
"""
TRAIN = """
import sys, jax, optax
from jax import numpy as jnp
first = {"w": jax.random.normal(jax.random.key(0), (4, 3)), "b": jnp.zeros(3)}
rows = jax.random.normal(jax.random.key(1), (8, 5, 4))
def mean_square(params, x):
    return jnp.mean(jnp.tanh(x @ params["w"] + params["b"]) ** 2)
def full_loss(model, batches):
    return sum(mean_square(model, x) for x in batches) / len(batches)
def train(kind):
    params, optimizer = first, optax.sgd(0.1)
    if kind not in ("plain", "tripled"):
        optimizer = optax.MultiSteps(optimizer, 4, use_grad_mean="summed" not in kind)
    state = optimizer.init(params)
    def step(params, state, x):
        g = jax.grad(mean_square)(params, x)
        g = jax.tree.map(lambda y: 3 * y, g) if kind == "tripled" else g
        updates, state = optimizer.update(g, state, params)
        return optax.apply_updates(params, updates), state
    if "eager" not in kind:
        step = jax.jit(step)
    for x in rows:
        params, state = step(params, state, x)
for kind in sys.argv[1].split(","):
    train(kind)
print("trained")
"""


KINDS = {
    "plain": ([], 1),
    "tripled": (["step-factor"], 1),
    "accumulated": ([], 4),
    "summed": (["not-divided"], 4),
    "eager accumulated": ([], 4),
    "eager summed": (["not-divided"], 4),
}
"""The findings for each kind of training, and the batches of a step."""


@pytest.mark.parametrize("step", ["1", "2"])
def test_steps_of_optax(step, tmp_path):
    for name, text in (
        ("optax/__init__.py", FACADE),
        ("optax/_src/__init__.py", ""),
        ("optax/_src/base.py", BASE),
        ("optax/transforms/__init__.py", ""),
        ("optax/transforms/_accumulation.py", MULTI_STEPS),
        ("train.py", TRAIN),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {}
    for kinds in ([*KINDS][:-1], [*KINDS][-1:]):  # steps that are not compiled are those of one optimizer
        given = {"options": ["--steps", step], "framework": "jax"}
        done, checks = watch(tmp_path, "train.py:full_loss", "train.py", ",".join(kinds), **given)
        assert done.stdout == "trained\n" and len(checks) == len(kinds), (checks, done.stderr)
        for kind, check in zip(kinds, checks, strict=True):
            rules = [item["rule"] for item in check.get("diagnosis", ())]
            assert check["verdict"] == ("fail" if rules else "pass"), check
            found[kind] = (rules, check["batches"])
    assert found == KINDS
