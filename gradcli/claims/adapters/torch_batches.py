"""Batches of a step of PyTorch: arguments of calls, those of other processes, and what they contain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch


class CallArguments:
    """The arguments of a call, as a batch where no loader yielded one.

    spread: a tuple of positional arguments, a dict of named ones; value: the one argument alone, if there is only one.
    """

    random = None

    def __init__(self, call: Any):
        args, kwargs = call.arguments
        self.spread = kwargs if kwargs and not args else (*args, *([kwargs] if kwargs else []))
        self.value = self.spread[0] if isinstance(self.spread, tuple) and len(self.spread) == 1 else self.spread


class RemoteBatch:
    """A batch that another process used."""

    def __init__(self, value: Any, random: Any):
        self.value, self.random = value, random


class RemoteCall:
    """A call of the model in another process."""

    kept: ClassVar[dict[int, Any]] = {}
    autocast = None

    def __init__(self, model: Any, random: Any, output: Any):
        self.module, self.random, self.output = (lambda: model), random, output


IGNORED_LABEL = -100
"""The label that losses of PyTorch leave out by default."""


def counts_of(batches: Sequence[Any]) -> list[tuple[str, float]]:
    """Return counts of rows, elements and labels in batches."""
    leaves = [tensors_of(batch) for batch in batches]
    places = [k for k, x in enumerate(leaves[0]) if x.dim() > 1 and not x.is_floating_point()] if leaves else []
    alike = all(len(some) == len(leaves[0]) for some in leaves)
    with_ignored = [k for k in places if alike and any(bool((some[k] == IGNORED_LABEL).any()) for some in leaves)]
    labels = [some[k] for k in (with_ignored or places)[-1:] for some in leaves] if alike else []
    found = {"rows": sum(len(x) for some in leaves for x in [y for y in some if y.dim()][:1])}
    if labels:
        found["labels"] = sum(int((x != IGNORED_LABEL).sum()) for x in labels)
        found["shifted labels"] = sum(int((x[:, 1:] != IGNORED_LABEL).sum()) for x in labels)
        found["positions"] = sum(x.numel() for x in labels)
    return [(name, float(n)) for name, n in found.items() if n]


def tensors_of(x: Any) -> list[Any]:
    if isinstance(x, torch.Tensor):
        return [x]
    parts = list(x.values()) if hasattr(x, "values") and hasattr(x, "keys") else x
    return [y for part in parts for y in tensors_of(part)] if isinstance(parts, list | tuple) else []


def batch_form(x: Any, depth: int = 3) -> str:
    """Describe the form of a batch: (x: 8×12 int64, y: 8 float32)."""
    if isinstance(x, torch.Tensor | np.ndarray):
        shape = "×".join(map(str, x.shape))
        return f"{shape} {str(x.dtype).removeprefix('torch.')}".strip()
    if depth and hasattr(x, "keys"):
        return f"({', '.join(f'{key}: {batch_form(x[key], depth - 1)}' for key in x.keys())})"  # noqa: SIM118 - any mapping
    if depth and isinstance(x, list | tuple):
        names = getattr(x, "_fields", [""] * len(x))
        parts = [batch_form(part, depth - 1) for part in x]
        texts = [f"{name}: {part}" if name else part for name, part in zip(names, parts, strict=True)]
        return f"({', '.join(texts)})" if len(x) <= 8 else f"{len(x)} of {texts[0]}"
    return type(x).__name__
