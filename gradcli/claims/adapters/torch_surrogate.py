"""PyTorch functions in which roundings pass changes through, and detached values stay as they are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode, resolve_name

from ...program.arguments import tensor_data
from ..claim import Arrays, CallError, Capabilities, Claim

STEP_NAMES = frozenset({"round", "floor", "ceil", "trunc", "fix", "sign", "sgn", "heaviside", "fake_quantize"})
"""PyTorch's functions that are constant between jumps, by the ends of their names."""


DETACHED = frozenset({"detach"})
WAYS = (STEP_NAMES, DETACHED, STEP_NAMES | DETACHED)
"""What a surrogate may replace, the most specific first."""


class KeptSteps(TorchFunctionMode):
    """A context that keeps what a function's steps or detached values are in its first run.

    Later runs return the same detached values, and step(u) = u + c with the c of the first run. replaced: the names of
    the functions for which it does so.
    """

    def __init__(self, replaced: frozenset[str]) -> None:
        super().__init__()
        self.replaced = replaced
        self.kept: list[tuple[str, torch.Tensor]] = []
        self.again: Iterator[tuple[str, torch.Tensor]] | None = None

    def start_again(self) -> None:
        self.again = iter(self.kept)

    def __torch_function__(self, function: Any, _: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        name = (resolve_name(function) or "").rpartition(".")[2]
        detaches = name in DETACHED
        if name not in self.replaced or not args or not isinstance(args[0], torch.Tensor):
            return function(*args, **(kwargs or {}))
        if self.again is None:
            result = function(*args, **(kwargs or {}))
            self.kept.append((name, result.clone() if detaches else result - args[0]))
            return result
        known, kept = next(self.again, ("", args[0]))
        if known != name or kept.shape != args[0].shape:
            raise RuntimeError("the function takes another path")
        return kept.clone() if detaches else args[0] + kept


class Surrogate(Claim):
    """The values of a call whose steps are the identity plus a constant, or whose detached values are constants.

    names: the functions that are replaced, in the order of their first calls.
    """

    capabilities = Capabilities()

    def __init__(self, call: Any, at: Mapping[str, np.ndarray], replaced: frozenset[str]):
        """Keep the values that a call of PyTorch computes at a point. Raises CallError."""
        super().__init__(call.title, at)
        self.call, self.wrt, self.mode = call, call.wrt, KeptSteps(replaced)
        self.evaluate(self.at)
        self.mode.start_again()
        self.names = tuple(dict.fromkeys(name for name, _ in self.mode.kept))

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        if self.mode.again is not None:
            self.mode.start_again()
        with self.call.running(False), torch.no_grad():
            given = {name: self.call.as_argument(np.asarray(x)) for name, x in arrays.items()}
            with self.mode:
                result = self.call.result(given)
            return tensor_data(self.call.join_result(result))


def surrogates_of(call: Any, at: Mapping[str, np.ndarray]) -> Iterator[Surrogate | None]:
    """Yield a surrogate at a point for each way to replace functions; None if there is nothing to replace."""
    for replaced in WAYS:
        found = None
        with contextlib.suppress(CallError):
            found = Surrogate(call, at, replaced)
        yield found if found is not None and found.names else None
