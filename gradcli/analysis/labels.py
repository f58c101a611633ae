"""What to call the results of a recorded graph, and where each was made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import Span
from ..program.base import Run
from ..tape.node import OutputNode
from ..tape.provenance import Observation, observation_of
from ..tape.tensor import Tensor
from . import op_formulas

Place = tuple[Any, int]


class Labels:
    """Names for the nodes of a run: the program's own, and v1, v2, ... for results without one.

    nodes: public nodes in the order they were made. names: named Tensors, those at the end of the run unless given.
    """

    def __init__(self, run: Run, nodes: Iterable[Any], names: Mapping[str, Any] | None = None):
        self.run = run
        self.names: dict[Place, str] = {}
        self.constants: dict[int, str] = {}
        tensors = {**(run.names if names is None else names), **run.leaves}
        for name, tensor in tensors.items():
            if not isinstance(tensor, Tensor):
                continue
            if tensor._node is None:
                self.constants.setdefault(id(tensor._data), name)
            else:
                self.names.setdefault((tensor._node.public, tensor._node.output_nr), name)
        self.labels: dict[Any, str] = {}
        count = 0
        for node in nodes:
            label = self.names.get((node, 0))
            while label is None:
                count += 1
                label = None if f"v{count}" in tensors else f"v{count}"
            self.labels[node] = label

    def name(self, node: Any) -> str | None:
        """Return the program's name for a result; None where it has none."""
        return self.names.get((node.public, node.output_nr))

    def label(self, node: Any) -> str:
        name = self.name(node)
        if name is not None:
            return name
        public = node.public
        label = self.labels.get(public, public.name())
        several = public is not node or isinstance(getattr(observation_of(public), "result", None), tuple)
        return f"{label}[{node.output_nr}]" if several else label

    def operands(self, node: Any, seen: Observation) -> list[Any]:
        """Return the operands of an observed operation: labels, and numbers for constants that are scalars."""
        operands: list[Any] = []
        for parent, raw in zip(node.parents, seen.operands, strict=False):
            if parent is not None:
                operands.append(self.label(parent))
            elif id(raw) in self.constants:
                operands.append(self.constants[id(raw)])
            elif np.ndim(raw) == 0 and np.asarray(raw).dtype.kind in "iuf":
                operands.append(float(raw))
            else:
                operands.append(op_formulas.constant_text(raw))
        return operands

    def formula(self, node: Any) -> str:
        """Return what a node computed; for nodes that were not observed, a call of the operation's name."""
        if node.leaf:
            return ""
        if isinstance(node, OutputNode):
            return f"{self.formula(node.public)}[{node.output_nr}]"
        seen = observation_of(node)
        if seen is None:
            inside = ", ".join(self.label(p) for p in node.parents if p is not None)
            return f"{node.name().removesuffix('Backward')}({inside})"
        words = [x if isinstance(x, str) else op_formulas.number_text(x) for x in self.operands(node, seen)]
        shapes = [np.shape(x) for x in seen.operands]
        return op_formulas.formula_of_operation(seen.primitive, words, shapes, seen.params)

    def place(self, node: Any) -> tuple[Span | None, str]:
        """Return where a node was made, and the source text there: the expression, or the line of a script."""
        span = self.run.where(node)
        if span is None:
            return None, ""
        return span, " ".join(span.source[span.start : span.end].split())
