"""The recorded graph of a program, as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import GradcliError
from ..program.base import Program
from ..results.graphs import Graph, GraphNode
from ..tape.hooks import table_of
from ..tape.provenance import observation_of
from .gradient import Request
from .labels import Labels
from .observed_run import ObservedPass, is_only_line, module_paths, public_nodes, value_of, watch_program

FOLD_ABOVE = 500
"""Graphs with more nodes are folded, unless all of them were asked for."""


class Cotangents:
    """Keeps the last run of backward, and where it is wanted the gradient of every result."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.last: ObservedPass | None = None
        self.found: dict[Any, np.ndarray] = {}

    def on_start(self, run: ObservedPass, nodes: list[Any]) -> None:
        """Watch the nodes of a graph."""
        self.last = run
        for node in nodes if self.wanted else ():
            if node.public is node or node.output_nr == 0:
                table_of(node).pre[id(self)] = self.see(node)

    def see(self, node: Any) -> Any:
        """Return a hook that keeps the gradient of a node's (first) output."""

        def hook(grads: tuple) -> None:
            if grads[0] is not None:
                self.found[node.public] = np.array(grads[0].detach()._data)

        return hook


def graph_program(
    program: Program,
    given: Mapping[str, np.ndarray],
    request: Request,
    values: bool = False,
    everything: bool = False,
) -> Graph:
    """Run a program and return the graph that it recorded: that of its output, or of its last backward.

    values: with the value and gradient of every result. everything: never fold. Raises GradcliError where there
    is no graph.
    """
    cotangents = Cotangents(values)
    run = watch_program(program, given, request, cotangents.on_start, differentiate=values)
    if run.output is not None:
        roots = [run.output._node]
    elif cotangents.last is not None:
        roots = cotangents.last.roots
    else:
        raise GradcliError("the program recorded no graph", kind="target")
    nodes = public_nodes(roots)
    labels = Labels(run, nodes)
    numbers = {node: i + 1 for i, node in enumerate(nodes)}
    paths = module_paths(run)
    ends = {root.public for root in roots}
    leaves = {} if cotangents.last is None else cotangents.last.leaves
    described = [
        describe_node(node, numbers, labels, paths, node in ends, cotangents.found if values else None, leaves)
        for node in nodes
    ]
    outputs = tuple(dict.fromkeys(numbers[root.public] for root in roots))
    if len(described) > FOLD_ABOVE and not everything:
        described, outputs = fold_modules(described, outputs)
    return Graph(program.title, tuple(described), outputs, values)


def describe_node(
    node: Any,
    numbers: dict[Any, int],
    labels: Labels,
    paths: dict[int, str],
    is_end: bool,
    grads: dict[Any, np.ndarray] | None,
    leaves: dict[Any, Any],
) -> GraphNode:
    span, source = labels.place(node)
    value = leaves[node] if node in leaves else value_of(node)
    shape, dtype = (np.shape(value), str(np.asarray(value).dtype)) if value is not None else noted_outline(node)
    return GraphNode(
        number=numbers[node],
        kind="leaf" if node.leaf else "output" if is_end else "intermediate",
        op=node.name(),
        name=labels.names.get((node, 0)),
        formula=labels.formula(node),
        shape=shape,
        dtype=dtype,
        inputs=tuple(numbers[p.public] for p in node.parents if p is not None),
        file=None if span is None else span.origin,
        line=None if span is None or is_only_line(span) else span.line,
        source=source,
        hooks=hook_names(node),
        scope=scope_of(node, labels, paths),
        value=None if grads is None or value is None else np.asarray(value),
        grad=None if grads is None else grads.get(node),
        label=labels.label(node),
    )


def scope_of(node: Any, labels: Labels, paths: dict[int, str]) -> tuple[str, ...]:
    """Return the modules that a node was made in, outermost first; for a parameter, those that hold it."""
    if node.leaf:
        known = set(paths.values())
        parts = (labels.name(node) or "").split(".")
        prefixes = [".".join(parts[:i]) for i in range(1, len(parts))]
        return tuple(prefix for prefix in prefixes if prefix in known)
    return tuple(paths.get(id(m), type(m).__name__) for m in getattr(observation_of(node), "scope", ()))


def noted_outline(node: Any) -> tuple[Any, Any]:
    """Return the shape and type of a result that was not observed, as far as its node noted them."""
    outline = node.outline
    if isinstance(outline, list) and outline:
        outline = outline[0]
    return (outline[0], str(outline[1])) if isinstance(outline, tuple) and len(outline) == 2 else (None, None)


def hook_names(node: Any) -> tuple[str, ...]:
    """Return the names of the user's hooks on a node."""
    table = node.hooks
    if table is None:
        return ()
    kinds = (table.tensor, table.pre, table.post, table.accumulated)
    hooks = [hook for kind in kinds for hook in kind.values() if getattr(hook, "__module__", "") != __name__]
    return tuple(getattr(hook, "__name__", type(hook).__name__) for hook in hooks)


# -- folding ------------------------------------------------------------------------------------------


def fold_modules(nodes: list[GraphNode], outputs: tuple[int, ...]) -> tuple[list[GraphNode], tuple[int, ...]]:
    """Return a graph in which the operations of one module, or of one line, are one node.

    Raises GradcliError when that is still too many to draw.
    """
    groups: dict[Any, list[GraphNode]] = {}
    for node in nodes:
        groups.setdefault(group_of(node), []).append(node)
    if len(groups) > FOLD_ABOVE:
        raise GradcliError(
            f"the graph has {len(nodes)} nodes, and {len(groups)} when folded by module and line: too many to draw",
            hint="draw all of it with --all, best with -f dot or -f json; or a part of it with --out NAME",
            kind="limit",
        )
    numbers = {node.number: i + 1 for i, members in enumerate(groups.values()) for node in members}
    folded = [merge_nodes(members, numbers, set(outputs)) for members in groups.values()]
    return folded, tuple(dict.fromkeys(numbers[i] for i in outputs))


def group_of(node: GraphNode) -> Any:
    """Return what a node is folded by: nothing for leaves and named results, else its module or its line."""
    if node.kind == "leaf":
        return node.number
    return ("module", node.scope[0]) if node.scope else ("line", node.file, node.line)


def merge_nodes(members: list[GraphNode], numbers: dict[int, int], outputs: set[int]) -> GraphNode:
    """Return several nodes as one: its inputs are those from outside."""
    number = numbers[members[0].number]
    inputs = dict.fromkeys(numbers[i] for m in members for i in m.inputs)
    inputs.pop(number, None)
    if len(members) == 1:
        return members[0]._replace(number=number, inputs=tuple(inputs))
    last = members[-1]
    where = last.scope[0] if last.scope else f"line {last.line}" if last.line else "operations"
    return last._replace(
        number=number,
        kind="output" if any(m.number in outputs for m in members) else "folded",
        op=where,
        name=None,
        formula=names_of(members),
        inputs=tuple(inputs),
        hooks=tuple(h for m in members for h in m.hooks),
        scope=last.scope[:1],
        operations=len(members),
    )


def names_of(members: Iterable[GraphNode]) -> str:
    """Return the operations of a folded node, the commonest first."""
    counts = Counter(m.op.removesuffix("0").removesuffix("Backward") for m in members)
    words = [f"{n} {name}" for name, n in counts.most_common(4)]
    return ", ".join(words + (["..."] if len(counts) > 4 else []))
