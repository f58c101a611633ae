"""Plain functions, each with backward passes as kernels write them: several right ones and slightly wrong ones.

A right one computes in float32 and rounds once, computes in its inputs' type throughout, saves intermediate results
in that type, or sums in blocks. A wrong one is off by a few per cent, lacks a term, skips a tail, reduces wrongly,
or is wrong in some of the elements.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from gradcli.check import reference
from gradcli.check.check import Check
from gradcli.check.claim_check import Place, run_check
from gradcli.request import Request
from gradcli.results.checks import CheckReport

Rule = Callable[..., Any]


class Kernel(NamedTuple):
    """A plain function, the shapes of its inputs for (rows, columns), and its backward passes of (g, *inputs)."""

    plain: Callable
    shapes: Callable[[int, int], dict[str, tuple[int, ...]]]
    right: dict[str, Rule]
    wrong: dict[str, Rule]


def wide(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype == torch.float64 else x.float()


def native(x: torch.Tensor) -> torch.Tensor:
    return x


def kept(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Return x as a kernel reads it back after saving it in the inputs' type."""
    return x.to(like.dtype).to(x.dtype)


def by_blocks(x: torch.Tensor, like: torch.Tensor, axis: int = 0, size: int = 16) -> torch.Tensor:
    """Sum block by block, with the partial sums rounded to the inputs' type."""
    return sum(kept(part.sum(axis), like) for part in x.split(size, axis))


def in_type(rule: Rule, work: Callable) -> Rule:
    """Return a backward pass that computes in the type given by `work` and returns gradients in the inputs' types."""

    def backward(g: torch.Tensor, *xs: torch.Tensor) -> Any:
        result = rule(work(g), *map(work, xs), xs[0])
        result = result if isinstance(result, tuple) else (result,)
        return tuple(part.to(x.dtype) for part, x in zip(result, xs, strict=True))

    return backward


def function_of(kernel: Kernel, backward: Rule) -> Callable:
    class Fused(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.save_for_backward(*xs)
            return kernel.plain(*xs)

        @staticmethod
        def backward(ctx, g):
            return backward(g, *ctx.saved_tensors)

    return Fused.apply


# --- elementwise ------------------------------------------------------------------------------------------------------


def silu_rule(g, x, like, factor=1.0, keep=False):
    s = kept(torch.sigmoid(x), like) if keep else torch.sigmoid(x)
    return g * (s * (1 + factor * x * (1 - s)))


C = 0.7978845608028654  # sqrt(2 / pi)


def gelu_rule(g, x, like, cubic=0.044715, inner=3.0, keep=False):
    t = torch.tanh(C * (x + cubic * x**3))
    t = kept(t, like) if keep else t
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * C * (1 + inner * 0.044715 * x**2))


def swiglu_rule(g, a, b, like, factor=1.0, keep=False):
    s = kept(torch.sigmoid(a), like) if keep else torch.sigmoid(a)
    return g * b * (s * (1 + factor * a * (1 - s))), g * (a * s)


# --- rows -------------------------------------------------------------------------------------------------------------


def softmax_rule(g, x, like, factor=1.0, keep=False, end=None):
    p = torch.softmax(x, -1)
    p = kept(p, like) if keep else p
    return p * (g - factor * (p * g)[:, :end].sum(-1, keepdim=True))


def log_softmax_rule(g, x, like, factor=1.0, keep=False, end=None):
    p = torch.softmax(x, -1)
    p = kept(p, like) if keep else p
    return g - factor * p * g[:, :end].sum(-1, keepdim=True)


def rmsnorm_rule(g, x, w, like, factor=1.0, keep=False, blocks=False, end=None, rows=None):
    r = torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS)
    r = kept(r, like) if keep else r
    xhat, n = x * r, x.shape[-1]
    dx = r * (g * w - factor * xhat * (g * w * xhat)[:, :end].sum(-1, keepdim=True) / n)
    parts = (g * xhat)[:rows]
    return dx, by_blocks(parts, like) if blocks else parts.sum(0)


def layernorm_rule(g, x, w, b, like, mean=1.0, square=1.0, keep=False, blocks=False, rows=None):
    mu = x.mean(-1, keepdim=True)
    r = torch.rsqrt(((x - mu) ** 2).mean(-1, keepdim=True) + EPS)
    r = kept(r, like) if keep else r
    xhat, gw = (x - mu) * r, g * w
    dx = r * (gw - mean * gw.mean(-1, keepdim=True) - square * xhat * (gw * xhat).mean(-1, keepdim=True))
    add = (lambda v: by_blocks(v, like)) if blocks else (lambda v: v[:rows].sum(0))
    return dx, add(g * xhat), add(g)


def linear_rule(g, x, w, b, like, blocks=False, rows=None, end=None):
    if blocks:
        dw = sum(kept(u.T @ v, like) for u, v in zip(g.split(16), x.split(16), strict=True))
        return g @ w, dw, by_blocks(g, like)
    return g[:, :end] @ w[:end], g[:rows].T @ x[:rows], g[:rows].sum(0)


def labels(x):
    return torch.arange(len(x)) * 7 % x.shape[-1]


def cross_entropy_rule(g, x, like, keep=False, onehot=1.0, over=1.0):
    p = torch.softmax(x, -1)
    p = kept(p, like) if keep else p
    d = p - onehot * functional.one_hot(labels(x), x.shape[-1])
    return g * d / (over * len(x))


EPS = 1e-5


def rmsnorm(x, w):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * w


def linear(x, w, b):
    return functional.linear(x, w, b)


def matrix(rows, columns):
    return {"x": (rows, columns)}


def ways(rule: Rule, **more: dict[str, Any]) -> dict[str, Rule]:
    """Return right variants of a rule: in float32, in the inputs' type, and in float32 with the given options."""
    found = {"wide": in_type(rule, wide), "native": in_type(rule, native)}
    return found | {name: in_type(lambda *a, o=o: rule(*a, **o), wide) for name, o in more.items()}


def mistakes(rule: Rule, **more: dict[str, Any]) -> dict[str, Rule]:
    found = {name: in_type(lambda *a, o=o: rule(*a, **o), wide) for name, o in more.items()}

    def changed(change: Callable) -> Rule:
        right = in_type(rule, wide)

        def backward(g, *xs):
            first, *others = right(g, *xs)
            return (change(first), *others)

        return backward

    def in_slice(x, place, factor):
        x = x.clone()
        x[place] *= factor
        return x

    for per_cent in (1, 2, 5):
        found[f"{per_cent} % too large"] = changed(lambda x, p=per_cent: (wide(x) * (1 + p / 100)).to(x.dtype))
    found["2 % too small"] = changed(lambda x: (wide(x) * 0.98).to(x.dtype))
    found["tail columns are 0"] = changed(
        lambda x: in_slice(x, (slice(None), slice(-max(1, x.shape[1] // 32), None)), 0)
    )
    found["last row is 0"] = changed(lambda x: in_slice(x, -1, 0))
    found["a column is 5 % off"] = changed(lambda x: in_slice(x, (slice(None), 3), 1.05))
    found["a row is 5 % off"] = changed(lambda x: in_slice(x, 2, 1.05))
    found["negated element"] = changed(lambda x: in_slice(x, int(wide(x).abs().reshape(-1).argmax()) // x.shape[1], -1))
    return found


KEEP = {"kept": {"keep": True}}
KERNELS = {
    "silu": Kernel(functional.silu, matrix, ways(silu_rule, **KEEP), mistakes(silu_rule, term={"factor": 0.9})),
    "gelu": Kernel(
        lambda x: functional.gelu(x, approximate="tanh"), matrix, ways(gelu_rule, **KEEP),
        mistakes(gelu_rule, term={"inner": 1.0}, constant={"cubic": 0.0}),
    ),
    "swiglu": Kernel(
        lambda a, b: functional.silu(a) * b, lambda r, c: {"a": (r, c), "b": (r, c)}, ways(swiglu_rule, **KEEP),
        mistakes(swiglu_rule, term={"factor": 0.9}),
    ),
    "softmax": Kernel(
        lambda x: functional.softmax(x, -1), matrix, ways(softmax_rule, **KEEP),
        mistakes(softmax_rule, term={"factor": 0.0}, tail={"end": -4}),
    ),
    "log_softmax": Kernel(
        lambda x: functional.log_softmax(x, -1), matrix, ways(log_softmax_rule, **KEEP),
        mistakes(log_softmax_rule, term={"factor": 0.0}, tail={"end": -4}),
    ),
    "rmsnorm": Kernel(
        rmsnorm, lambda r, c: {"x": (r, c), "w": (c,)}, ways(rmsnorm_rule, **KEEP, blocks={"blocks": True}),
        mistakes(rmsnorm_rule, term={"factor": 0.0}, tail={"rows": -2}, half={"factor": 0.5}),
    ),
    "layernorm": Kernel(
        lambda x, w, b: functional.layer_norm(x, x.shape[-1:], w, b, EPS),
        lambda r, c: {"x": (r, c), "w": (c,), "b": (c,)},
        ways(layernorm_rule, **KEEP, blocks={"blocks": True}),
        mistakes(layernorm_rule, term={"square": 0.0}, mean={"mean": 0.0}, tail={"rows": -2}),
    ),
    "linear": Kernel(
        linear, lambda r, c: {"x": (r, c), "w": (2 * r, c), "b": (2 * r,)},
        ways(linear_rule, blocks={"blocks": True}), mistakes(linear_rule, tail={"rows": -2}, columns={"end": -2}),
    ),
    "cross_entropy": Kernel(
        lambda x: functional.cross_entropy(x, labels(x)), matrix, ways(cross_entropy_rule, **KEEP),
        mistakes(cross_entropy_rule, reduction={"over": 1.05}, term={"onehot": 0.97}),
    ),
}  # fmt: skip
TYPES = ("bfloat16", "float16", "float32")
SIZES = ((8, 256), (32, 64), (64, 96), (16, 512))


def cases() -> Iterator[tuple[str, str, str, bool]]:
    """Yield (name of the kernel, variant, type, whether it is right)."""
    for name, kernel in KERNELS.items():
        for dtype in TYPES:
            yield from ((name, way, dtype, True) for way in kernel.right)
            yield from ((name, way, dtype, False) for way in kernel.wrong)


def judge(
    name: str, way: str, dtype: str, size: tuple[int, int] = SIZES[0], seed: int = 0, scale: float = 1.0
) -> CheckReport:
    """Check a variant of a kernel at normally distributed inputs with standard deviation `scale`."""
    kernel = KERNELS[name]
    at = kernel.shapes(*size)
    request = Request(dtype=dtype, reference="plain", seed=seed, engine="torch")
    backward = {**kernel.right, **kernel.wrong}[way]

    def made(function: Callable) -> Check:
        return Check.of(named(function, at), at, request=request, name=name)

    check = replace(made(function_of(kernel, backward)), reference=made(kernel.plain))
    rng = np.random.default_rng(seed)
    arrays = {name: reference.rounded_to(scale * rng.standard_normal(shape), dtype) for name, shape in at.items()}
    compare = functools.partial(reference.check_by_reference, opens=functools.partial(check.open_reference, arrays))
    return run_check(lambda: check.claim(arrays), Place(name), request, blame=False, compare=compare)


def named(function: Callable, names: Any) -> Callable:
    """Return a function with these parameter names that calls the given one."""
    return eval(f"lambda {', '.join(names)}: function({', '.join(names)})", {"function": function})
