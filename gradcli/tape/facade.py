"""What users see of operations that PyTorch records as one node and we as several: PyTorch's node.

A spec names the nodes from the result down to the operands: "SqueezeBackward1(AvgPool2D(Unsqueeze(input)))"; a name
without "Backward" gets "Backward0" behind it. Only names and links are for show: gradients flow through our nodes.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any

from .modes import state
from .node import Node, OutputNode

faces: weakref.WeakKeyDictionary[Node, Any] = weakref.WeakKeyDictionary()
"""What is shown instead of a node: its name, and weak references to the operands' nodes or further such faces."""

KEPT = {
    **dict.fromkeys(("PowBackward0", "RemainderBackward0", "FmodBackward0", "ClampBackward1"), slice(0, 1)),
    **dict.fromkeys(("ClampMinBackward0", "ClampMaxBackward0", "IndexFillBackward0"), slice(0, 1)),
    **dict.fromkeys(("LerpBackward0", "ScatterBackward0"), slice(0, 2)),
    **dict.fromkeys(("PowBackward2", "RsubBackward1", "ZeroBackward0", "FillBackward2"), slice(1, 2)),
    "ScatterBackward1": slice(0, 1),
    "MaskedFillBackward0": slice(2, 3),
    "WhereBackward0": slice(1, 3),
}
"""The operands that PyTorch counts among the next functions, by the node's name: numbers and masks are none."""


class Face:
    """A node for show: a name, and what it links to. It is no part of the graph."""

    def __init__(self, links: list):
        self.links = links

    def name(self) -> str:
        """Return the name of the operation."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple:
        """The nodes that gradients flow to next, each with the number of its output."""
        return tuple(shown(link) for link in self.links)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


@functools.cache
def face_class(name: str) -> type:
    """Return the class of faces of this name."""
    return type(name, (Face,), {})


def shown(link: Any) -> tuple:
    """Return a link as PyTorch shows it."""
    node = link() if isinstance(link, weakref.ref) else link
    return (None, 0) if node is None else (node, 0) if isinstance(node, Face) else (node.public, node.output_nr)


def next_functions(node: Node) -> tuple:
    """Return what PyTorch lists as the next functions of a node."""
    face = faces.get(node)
    if face is not None:
        return face.next_functions
    parents = node.parents[KEPT.get(node.name(), slice(None))]
    return tuple((None, 0) if p is None else (p.public, p.output_nr) for p in parents)


def name_of(node: Node) -> str:
    """Return the name that PyTorch gives to a node."""
    face = faces.get(node)
    return node.rule.name if face is None else face.name()


@functools.cache
def parsed(spec: str) -> Any:
    """Return a spec as (name, parts), each part again such a pair, or the name of an operand."""
    word, _, inside = spec.partition("(")
    if not inside:
        return word
    parts, depth, start = [], 0, 0
    for i, mark in enumerate(inside):
        depth += (mark == "(") - (mark == ")")
        if depth < 0 or (mark == "," and depth == 0):
            parts.append(parsed(inside[start:i].strip()))
            start = i + 1
    return word if "Backward" in word else f"{word}Backward0", parts


def link_to(part: Any, operands: dict[str, Any]) -> Any:
    """Return what a part of a spec links to: a face, a weak reference to an operand's node, or None."""
    if isinstance(part, str):
        node = getattr(operands.get(part), "_node", None)
        return None if node is None else weakref.ref(node)
    links = [link_to(p, operands) for p in part[1]]
    return None if all(link is None for link in links) else face_class(part[0])(links)


def as_one(spec: str, result: Any, operands: dict[str, Any]) -> Any:
    """Return the result of an operation, or a tuple of results; their nodes are shown as the spec says."""
    for x in result if isinstance(result, tuple) else (result,):
        node = getattr(x, "_node", None)
        if (
            node is None
            or node.leaf
            or state.observed
            or any(node is getattr(y, "_node", 0) for y in operands.values())
        ):
            continue
        name, parts = parsed(spec)
        face = face_class(name)([link_to(part, operands) for part in parts])
        main = node.p if isinstance(node, OutputNode) else node
        if main.nameless:
            faces[main] = face
    return result


__all__ = ["as_one", "faces", "name_of", "next_functions"]
