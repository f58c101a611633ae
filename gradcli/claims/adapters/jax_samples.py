"""Samples of random functions of JAX: gradients, or losses whose gradients JAX computes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..claim import Arrays, CallError
from ..random_function import RandomFunction
from .jax import as_jax, enable_x64

CHUNK = 1024  # samples of one compiled call, always the same number, so that a function is compiled once: a choice
PAIR_CALLS = 8  # calls for two samples that are compiled together: a choice
COMPARED = 4  # samples of a compiled call that are compared with single calls: a choice
SAMPLES_ALIKE = 1e-6  # their largest relative difference: compiled code may round differently


class Samples(RandomFunction):
    """Samples by compiled code, with vmap over keys if a call returns one, if they are those of calls as written."""

    makers = (jax.random.PRNGKey, *RandomFunction.makers)
    compiles = False  # whether compiled code gives the same samples

    def settle(self) -> None:
        self.settle_gradients("JAX")
        self.compiles = self.takes_keys and self.can_compile()

    @property
    def takes_keys(self) -> bool:
        return bool(self.roles.random) and self.make is self.makers[0]

    @property
    def by_key(self) -> bool:
        """Whether each sample has a key of its own."""
        return self.one or self.is_loss

    @property
    def is_loop(self) -> bool:
        return not self.compiles and (self.by_key or self.loops_inside)

    @property
    def rows_at_once(self) -> int:  # type: ignore[override]
        return CHUNK if self.compiles else 1

    def can_compile(self) -> bool:
        """Report whether compiled code gives the same samples: code that uses other random numbers does not."""
        leaves, key = self.arguments.arrays, jax.random.PRNGKey(0)
        try:
            with enable_x64(True):
                compiled = self.compiled(leaves, key)
                if self.by_key:
                    written = np.stack([self.alone(leaves, k) for k in jax.random.split(key, CHUNK)[:COMPARED]])
                else:
                    written = self.together(leaves, key, CHUNK)
        except Exception:  # the function cannot be traced
            return False
        return np.allclose(
            compiled[: len(written)], written, rtol=SAMPLES_ALIKE, atol=SAMPLES_ALIKE * float(np.abs(written).max())
        )

    def samples(self, leaves: Arrays, seed: int, count: int) -> np.ndarray:
        with enable_x64(True):
            return super().samples(leaves, seed, count)

    def pairs(self, leaves: Arrays, seed: int, calls: int) -> np.ndarray:
        with enable_x64(True):
            if not self.compiles or self.by_key:
                return super().pairs(leaves, seed, calls)
            keys, inputs = jax.random.split(self.make(seed), -(-calls // PAIR_CALLS)), as_jax(leaves)
            parts = [self.numbers(self.pair_program(inputs, key), leaves, (2 * PAIR_CALLS,)) for key in keys]
            return np.concatenate(parts)[: 2 * calls]

    @functools.cached_property
    def pair_program(self) -> Callable:
        """Calls for two samples, compiled: a function of inputs and a key, whose results are joined."""
        over_keys = jax.vmap(lambda leaves, key: self.call_on(leaves, key, 2), in_axes=(None, 0))

        def joined(leaves: Mapping[str, Any], key: Any) -> Any:
            results = over_keys(leaves, jax.random.split(key, PAIR_CALLS))
            return jax.tree_util.tree_map(lambda x: x.reshape(-1, *x.shape[2:]), results)

        return jax.jit(joined)

    def draw(self, leaves: Arrays, rng: Any, count: int) -> np.ndarray:
        if self.compiles and self.by_key:
            keys = jax.random.split(rng, -(-count // CHUNK))
            return np.concatenate([self.compiled(leaves, key) for key in keys])[:count]
        if self.compiles and count % CHUNK == 0:
            return np.concatenate([self.compiled(leaves, key) for key in jax.random.split(rng, count // CHUNK)])
        if not self.by_key:
            return self.together(leaves, rng, count)
        keys = jax.random.split(rng, count) if self.takes_keys else [rng] * count
        return np.stack([self.alone(leaves, key) for key in keys])

    def compiled(self, leaves: Arrays, key: Any) -> np.ndarray:
        """Return CHUNK samples by compiled code."""
        return self.numbers(self.program(as_jax(leaves), key), leaves, (CHUNK,))

    @functools.cached_property
    def program(self) -> Callable:
        if not self.by_key:
            return jax.jit(lambda leaves, key: self.call_on(leaves, key, CHUNK))
        over_keys = jax.vmap(self.result_of, in_axes=(None, 0))
        return jax.jit(lambda leaves, key: over_keys(leaves, jax.random.split(key, CHUNK)))

    def result_of(self, leaves: Mapping[str, Any], key: Any) -> Any:
        """Return one result, or the gradient of one value of a loss."""
        return jax.grad(self.loss_of)(leaves, key) if self.is_loss else self.call_on(leaves, key, None)

    def loss_of(self, leaves: Mapping[str, Any], key: Any) -> Any:
        loss = jnp.asarray(self.call_on(leaves, key, 1))
        if loss.size != 1:
            raise CallError(f"{self.title} returned shape {loss.shape}; it must return gradients, or a loss")
        return loss.reshape(())

    def alone(self, leaves: Arrays, key: Any) -> np.ndarray:
        """Return one sample: (size,)."""
        return self.numbers(self.result_of(as_jax(leaves), key), leaves, ())

    def together(self, leaves: Arrays, key: Any, count: int) -> np.ndarray:
        return self.fit(tree_as_numpy(self.call_on(as_jax(leaves), key, count)), (count,))

    def numbers(self, result: Any, leaves: Arrays, lead: tuple[int, ...]) -> np.ndarray:
        if not self.is_loss:
            return self.fit(tree_as_numpy(result), lead)
        return np.concatenate([np.asarray(result[name], float).reshape((*lead, -1)) for name in leaves], axis=-1)

    def call_on(self, leaves: Mapping[str, Any], key: Any, count: int | None) -> Any:
        return self.call_with(self.arguments.fill_in(leaves, jnp.asarray), key, count)


def tree_as_numpy(result: Any) -> Any:
    return jax.tree_util.tree_map(np.asarray, result)
