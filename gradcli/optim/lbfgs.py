"""L-BFGS: steps along the gradient times an estimate of the inverse Hessian from the last steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tape import versions
from ..tape.modes import enable_grad
from ..tape.tensor import Tensor
from .optimizer import Optimizer, refuse_unless


class LBFGS(Optimizer):
    """Up to max_iter steps for each `step(closure)`, without a line search (Nocedal and Wright 2006, algorithm 7.4).

    closure: clears the gradients, computes the loss, runs backward and returns the loss.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ):
        refuse_unless([(lr >= 0, f"Invalid learning rate: {lr}")])
        if line_search_fn is not None:
            raise RuntimeError(f"LBFGS: line_search_fn={line_search_fn!r} is not supported; leave it out")
        settings = {"lr": lr, "max_iter": max_iter, "max_eval": max_eval or max_iter * 5 // 4}
        settings |= {"tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change}
        super().__init__(params, {**settings, "history_size": history_size, "line_search_fn": None})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self.params = self.param_groups[0]["params"]

    def gradient(self) -> np.ndarray:
        """Return the gradients of all parameters as one vector."""
        parts = [np.zeros(p.numel(), p._data.dtype) if p._grad is None else p._grad._array() for p in self.params]
        return np.concatenate([np.ravel(x) for x in parts])

    def move(self, step: np.ndarray) -> None:
        """Add a vector to all parameters."""
        start = 0
        for p in self.params:
            data = p._array()
            data += step[start : start + data.size].reshape(data.shape)
            versions.mark_changed(data)
            start += data.size

    def step(self, closure: Callable | None = None) -> Any:
        """Take the steps; return the loss before them."""
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        group, state = self.param_groups[0], self.state[self.params[0]]
        with enable_grad():
            first = closure()
        loss, grad, count = number(first), self.gradient(), 1
        state.setdefault("n_iter", 0)
        state["func_evals"] = state.get("func_evals", 0) + 1
        if np.abs(grad).max() <= group["tolerance_grad"]:
            return first
        for turn in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self.direction(grad, state, group["history_size"])
            usual = float(group["lr"])
            size = min(1.0, 1.0 / float(np.abs(grad).sum())) * usual if state["n_iter"] == 1 else usual
            slope = float(grad @ direction)
            state.update(d=direction, t=size, previous=grad.copy())
            if slope > -group["tolerance_change"]:
                break
            self.move(grad.dtype.type(size) * direction)
            before = loss
            if turn != group["max_iter"]:
                with enable_grad():
                    loss = number(closure())
                grad = self.gradient()
                count += 1
                state["func_evals"] += 1
            if (
                count >= group["max_eval"]
                or np.abs(grad).max() <= group["tolerance_grad"]
                or np.abs(direction * size).max() <= group["tolerance_change"]
                or (turn != group["max_iter"] and abs(loss - before) < group["tolerance_change"])
            ):
                break
        return first

    def direction(self, grad: np.ndarray, state: dict[str, Any], size: int) -> np.ndarray:
        """Return -H grad, H from the differences of places and gradients so far."""
        if "d" not in state:
            state.update(differences=[], scale=1.0)
            return -grad
        y, s = grad - state["previous"], state["d"] * grad.dtype.type(state["t"])
        product = float(y @ s)
        pairs = state["differences"]
        if product > 1e-10:
            if len(pairs) == size:
                pairs.pop(0)
            pairs.append((y, s, 1 / product))
            state["scale"] = product / float(y @ y)
        q, weights = -grad, []
        for y, s, inverse in reversed(pairs):
            weights.append(grad.dtype.type(float(s @ q) * inverse))
            q = q - weights[-1] * y
        d = q * grad.dtype.type(state["scale"])
        for (y, s, inverse), weight in zip(pairs, reversed(weights), strict=True):
            d = d + s * (weight - grad.dtype.type(float(y @ d) * inverse))
        return d


def number(loss: Any) -> float:
    """Return a loss as a number."""
    return float(loss.item() if isinstance(loss, Tensor) else loss)


__all__ = ["LBFGS"]
