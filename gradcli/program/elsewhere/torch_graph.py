"""What PyTorch computes on the way: what recorded graphs hold, and types of numbers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


def functions_in(node: Any) -> list[Any]:
    """Return the custom Functions whose nodes a graph has."""
    return [node._forward_cls for node in nodes_of(node) if hasattr(node, "_forward_cls")]


def method_place(method: Any) -> str:
    """Return where a method is, with the line that returns its result."""
    try:
        lines, start = inspect.getsourcelines(method)
    except (OSError, TypeError):
        return str(getattr(method, "__qualname__", method))
    last = max((k for k, line in enumerate(lines) if re.search(r"\breturn\b", line)), default=len(lines) - 1)
    text = lines[last].strip()
    return f"{inspect.getsourcefile(method)}:{start + last}\n    {text}\n    {'^' * len(text)}"


def nodes_of(node: Any) -> Iterator[Any]:
    seen, waiting = set(), [node]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        waiting += [below for below, _ in node.next_functions]


def refuse_once_differentiable(grads: Sequence[torch.Tensor | None]) -> None:
    """Raise RuntimeError, in PyTorch's words, for what must not be differentiated again: nothing leads on from it."""
    nodes = (node for g in grads if g is not None for node in nodes_of(g.grad_fn))
    if any(type(node).__name__ == "Error" for node in nodes):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


class TypesComputed(TorchFunctionMode):
    """A context that notes the types of all tensors that are computed within, also inside of custom Functions."""

    def __init__(self) -> None:
        super().__init__()
        self.types: set[torch.dtype] = set()

    def __torch_function__(self, function: Any, _: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = function(*args, **(kwargs or {}))
        parts = result if isinstance(result, tuple | list) else (result,)
        self.types.update(x.dtype for x in parts if isinstance(x, torch.Tensor))
        return result
