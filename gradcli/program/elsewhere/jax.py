"""Functions of JAX, with their custom_vjp and custom_jvp."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..claim import Arrays, CallError
from .framework import FrameworkCall, join_real

CALLS_AS_WRITTEN = 8  # calls after which a function is compiled


class Adapter(FrameworkCall):
    """A call in JAX: reverse mode by jax.vjp, forward mode by jax.jvp."""

    engine = "jax"
    compiled: Callable | None = None
    evaluated = 0
    reverse_mode: bool | None = None

    def precision(self, narrow: bool) -> contextlib.AbstractContextManager:
        return enable_x64(not narrow)

    @classmethod
    def in_double(cls) -> contextlib.AbstractContextManager:
        return enable_x64(True)

    @staticmethod
    def array(x: np.ndarray) -> Any:
        return jnp.asarray(x)

    def compute(self, at: Arrays) -> Any:
        arrays = {name: jnp.asarray(x) for name, x in at.items()}
        if self.compiled is not None:
            return self.compiled(arrays)
        out = self.evaluate_as_written(arrays)
        self.evaluated += 1
        if self.evaluated == CALLS_AS_WRITTEN:
            self.compiled = self.compile(arrays, out)
        return out

    def evaluate_as_written(self, arrays: Mapping[str, Any]) -> Any:
        return self.join_result(self.result(arrays))

    def compile(self, arrays: Mapping[str, Any], out: Any) -> Callable | None:
        """Return what jax.jit makes of the function; None where that cannot be, or gives other numbers at a point.

        A loop of lax is compiled anew each time that the function is called.
        """
        compiled = jax.jit(self.evaluate_as_written)
        try:
            again = compiled(arrays)
        except Exception:  # its code asks for values
            return None
        room = 1e-4 if out.dtype.itemsize < 8 else 1e-9
        return compiled if jnp.allclose(again, out, rtol=room, atol=0, equal_nan=True) else None

    def function_of(self, names: Sequence[str]) -> Callable:
        return lambda *xs: self.join_result(self.result(dict(zip(names, xs, strict=True))))

    def goes_backward(self) -> bool:
        """Return whether reverse mode goes through the function: it does not go through most while loops."""
        if self.reverse_mode is None:
            self.reverse_mode = True
            if any(equation.primitive.name == "while" for equation in self.equations):
                try:
                    self.vjps(self.at, [np.zeros_like(self.value(self.at))])
                except CallError as error:
                    self.reverse_mode = "Reverse-mode differentiation does not work" not in str(error)
        return self.reverse_mode

    @functools.cached_property
    def equations(self) -> list[Any]:
        """What the function computes, equation by equation; nothing where it cannot be traced."""
        at = self.claimed(self.at)
        with contextlib.suppress(Exception), self.running("", self.single):
            traced = jax.make_jaxpr(self.function_of(list(at)))(*map(jnp.asarray, at.values()))
            return list(equations_in(traced.jaxpr))
        return []

    def short_types(self) -> Iterator[tuple[float, str]]:
        results = [x.aval for equation in self.equations for x in equation.outvars]
        for dtype in {x.dtype for x in results if hasattr(x, "dtype")}:
            if jnp.issubdtype(dtype, jnp.floating) and dtype.itemsize <= 2:
                yield float(jnp.finfo(dtype).eps) / 2, dtype.name

    def linearize(self, at: Arrays) -> tuple[np.ndarray, Callable[[np.ndarray], dict[str, np.ndarray]]]:
        out, vjp = jax.vjp(self.function_of(list(at)), *map(jnp.asarray, at.values()))

        def back(cotangent: np.ndarray) -> dict[str, np.ndarray]:
            products = vjp(jnp.asarray(cotangent, out.dtype).reshape(out.shape))
            return {name: np.conj(np.asarray(x)) for name, x in zip(at, products, strict=True)}

        return np.asarray(out), back

    def along(self, at: Arrays, tangents: Arrays) -> np.ndarray:
        ordered = tuple(jnp.asarray(tangents[name]) for name in at)
        return np.asarray(jax.jvp(self.function_of(list(at)), tuple(map(jnp.asarray, at.values())), ordered)[1])

    def lacks_forward(self, error: BaseException) -> bool:
        text = str(error).lower()
        return isinstance(error, NotImplementedError) or "forward-mode" in text or "jvp" in text

    def join_result(self, result: Any) -> Any:
        leaves = jax.tree_util.tree_leaves_with_path(result)
        arrays = [(tuple(map(key_of, path)), jnp.asarray(x)) for path, x in leaves if not isinstance(x, str)]
        inexact = [(path, x) for path, x in arrays if jnp.issubdtype(x.dtype, jnp.inexact)]
        return join_real(self.note_layout(result, inexact, jnp.iscomplexobj), jnp)

    def product(self, *given: Any) -> tuple:
        *xs, seed = given
        out, back = jax.vjp(self.function_of(list(self.at)), *xs)
        return tuple(map(jnp.conj, back(seed.reshape(out.shape).astype(out.dtype))))


def enable_x64(wanted: bool) -> contextlib.AbstractContextManager:
    """Return a context with or without 64 bits, by the name that this version of JAX has for it."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(wanted)
    from jax.experimental import enable_x64 as older

    return older(wanted)


def equations_in(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield equation
        for part in jax.tree_util.tree_leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            inner = getattr(part, "jaxpr", part)
            if hasattr(inner, "eqns"):
                yield from equations_in(inner)


def key_of(step: Any) -> int | str:
    """Return an index, a key or a name on the way to a leaf."""
    key = next(getattr(step, name) for name in ("key", "idx", "name") if hasattr(step, name))
    return key if isinstance(key, int) else str(key)
