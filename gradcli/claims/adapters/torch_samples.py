"""Samples of random functions of PyTorch: gradients, or losses whose gradients PyTorch computes."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from ..claim import Arrays, CallError
from ..random_function import TRIAL, RandomFunction
from .torch import DefaultPrecision, tensors_behind
from .torch_calls import gradient_arrays, tensor_copy

MAPPED = 1024  # samples of the smallest call by vmap, which takes about as long as one of a few: a choice
MAKES_TENSORS = {
    *(torch.empty, torch.zeros, torch.ones, torch.full, torch.Tensor.new_empty, torch.Tensor.new_zeros),
    *(torch.empty_like, torch.zeros_like, torch.ones_like, torch.full_like, torch.Tensor.new_ones),
}


def generator_from(seed: int) -> torch.Generator:
    return torch.Generator(device=torch.get_default_device()).manual_seed(seed)


class BatchedCreation(TorchFunctionMode):
    """A context in which new tensors are batched by vmap, so that code may fill them with random numbers in place."""

    def __init__(self, zero: torch.Tensor):
        super().__init__()
        self.zero = zero

    def __torch_function__(self, function: Any, _: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = function(*args, **(kwargs or {}))
        made = function in MAKES_TENSORS and result.is_floating_point()
        return result + self.zero.to(result.dtype) if made else result


class Samples(RandomFunction):
    """Samples by vmap if a call returns one sample and vmap supports it."""

    makers = (generator_from, *RandomFunction.makers)
    maps: bool | None = None  # whether vmap supports the function; None if it was not tried
    records = False  # whether the inputs require grad, because the function differentiates inside

    def settle(self) -> None:
        self.reached = tensors_behind(self.function)
        self.settle_gradients("PyTorch")
        self.samples(self.arguments.arrays, 0, TRIAL)  # finds out whether vmap supports it

    @property
    def is_loop(self) -> bool:
        return ((self.one or self.is_loss) and not self.maps) or self.loops_inside

    @property
    def rows_at_once(self) -> int:  # type: ignore[override]
        return MAPPED if self.maps else 1

    def samples(self, leaves: Arrays, seed: int, count: int) -> np.ndarray:
        with DefaultPrecision(self.reached, False, sum(x.size for x in leaves.values())):
            return super().samples(leaves, seed, count)

    def pairs(self, leaves: Arrays, seed: int, calls: int) -> np.ndarray:
        with DefaultPrecision(self.reached, False, sum(x.size for x in leaves.values())):
            return super().pairs(leaves, seed, calls)

    def draw(self, leaves: Arrays, rng: Any, count: int) -> np.ndarray:
        if not (self.one or self.is_loss):
            return self.fit(plain_arrays(self.recorded(leaves, rng, count)), (count,))
        if self.maps is not False and not self.roles.random and count > 1:
            try:
                mapped = self.mapped(leaves, count)
            except Exception:  # vmap does not support an operation; an error of the function itself comes again
                if self.maps:
                    raise
                self.maps = False
            else:
                self.maps = True
                return mapped
        alone = self.gradient if self.is_loss else self.sample
        return np.stack([alone(leaves, rng) for _ in range(count)])

    def mapped(self, leaves: Arrays, count: int) -> np.ndarray:
        """Return the samples of `count` calls, by vmap."""
        alone = torch.func.grad(self.loss_of) if self.is_loss else self.result_of

        def call(inputs: Mapping[str, torch.Tensor], zero: torch.Tensor) -> Any:
            with BatchedCreation(zero):
                return alone(inputs)

        wide = {name: (x := tensor_copy(value)).expand(count, *x.shape) for name, value in leaves.items()}
        with warnings.catch_warnings(), without_validation():
            warnings.simplefilter("ignore")  # vmap warns of operations that it runs in a loop
            result = plain_arrays(torch.vmap(call, randomness="different")(wide, torch.zeros(count)))
        return join_gradients(result, leaves, (count,)) if self.is_loss else self.fit(result, (count,))

    def result_of(self, inputs: Mapping[str, torch.Tensor]) -> Any:
        return self.call_on(inputs, None, None)

    def loss_of(self, inputs: Mapping[str, torch.Tensor], rng: Any = None) -> torch.Tensor:
        """Return one value of the loss, as a tensor without axes."""
        result = self.call_on(inputs, rng, 1)
        if not isinstance(result, torch.Tensor) or result.numel() != 1:
            what = f"shape {tuple(result.shape)}" if isinstance(result, torch.Tensor) else type(result).__name__
            raise CallError(f"{self.title} returned {what}; it must return gradients, or a loss with a graph")
        return result.reshape(())

    def sample(self, leaves: Arrays, rng: Any) -> np.ndarray:
        return self.fit(plain_arrays(self.recorded(leaves, rng)), ())

    def gradient(self, leaves: Arrays, rng: Any) -> np.ndarray:
        """Return the gradient of one value of the loss."""
        with torch.enable_grad():
            inputs = {name: tensor_copy(x).requires_grad_() for name, x in leaves.items()}
            loss = self.loss_of(inputs, rng)
            if not loss.requires_grad:
                raise CallError(f"{self.title} returned a number without a graph; it must return gradients, or a loss")
            grads = torch.autograd.grad(loss, list(inputs.values()), allow_unused=True)
        return join_gradients(gradient_arrays(inputs, grads), leaves, ())

    def recorded(self, leaves: Arrays, rng: Any, count: int | None = None) -> Any:
        """Call the function, on inputs that require grad if it needs them."""
        try:
            return self.call_on({n: tensor_copy(x).requires_grad_(self.records) for n, x in leaves.items()}, rng, count)
        except RuntimeError as error:
            if self.records or "require" not in str(error) or "grad" not in str(error):
                raise
        self.records = True
        return self.recorded(leaves, rng, count)

    def call_on(self, inputs: Mapping[str, torch.Tensor], rng: Any, count: int | None) -> Any:
        return self.call_with(self.arguments.fill_in(inputs, tensor_copy), rng, count)


@contextlib.contextmanager
def without_validation() -> Iterator[None]:
    """Turn off the checks of torch.distributions, which vmap does not support."""
    kind: Any = torch.distributions.Distribution
    before = kind._validate_args
    kind.set_default_validate_args(False)
    try:
        yield
    finally:
        kind.set_default_validate_args(before)


def join_gradients(grads: Arrays, leaves: Arrays, lead: tuple[int, ...]) -> np.ndarray:
    """Return gradients by input as rows of numbers."""
    return np.concatenate([np.asarray(grads[name], float).reshape((*lead, -1)) for name in leaves], axis=-1)


def plain_arrays(result: Any) -> Any:
    """Return a result with arrays in place of tensors."""
    if isinstance(result, torch.Tensor):
        return result.detach().cpu().numpy()
    if isinstance(result, Mapping):
        return {key: plain_arrays(x) for key, x in result.items()}
    return type(result)(map(plain_arrays, result)) if type(result) in (tuple, list) else result
