"""Nodes of the dynamic graph: raw saved arrays and links to parent nodes, never Tensors.

Without links to Tensors there are no reference cycles, so memory goes as soon as the last result does.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .dtypes import naming
from .hooks import table_of
from .modes import state

next_seq = itertools.count(0, -1).__next__
"""Sequence numbers count down, so that the smallest is the newest: backward pops them from a min-heap."""


class Rule:
    """What a node does: shared by all nodes of a quick primitive, made per call where there are parameters.

    apply(node, g) returns cotangents (None for a parent that wants none) in the form that `kind` says:
    ONE for a single one, TWO for a pair, MANY for a tuple; PRODUCT is a TWO that multiplies by the other
    operand; with OWNING, a tuple from apply(node, g, owned), where owned says that nobody else holds g.
    saves says whether the node keeps anything that backward frees.
    """

    __slots__ = ("apply", "kind", "name", "params", "primitive", "saves", "spent")

    def __init__(
        self,
        name: str,
        kind: int,
        apply: Callable,
        saves: bool,
        primitive: Any = None,
        params: Any = None,
    ):
        self.name = name
        self.kind = kind
        self.apply = apply
        self.saves = saves
        self.primitive = primitive
        self.params = params
        self.spent = spent(self.name, kind) if kind in (ONE, TWO, PRODUCT) and saves else None


MANY, ONE, TWO, PRODUCT, OWNING = range(5)
COUNTED = {
    **dict.fromkeys(("PowBackward0", "RemainderBackward0", "FmodBackward0", "ClampBackward1"), slice(0, 1)),
    **dict.fromkeys(("ClampMinBackward0", "ClampMaxBackward0", "IndexFillBackward0"), slice(0, 1)),
    **dict.fromkeys(("LerpBackward0", "ScatterBackward0"), slice(0, 2)),
    **dict.fromkeys(("PowBackward2", "RsubBackward1", "ZeroBackward0", "FillBackward2"), slice(1, 2)),
    "ScatterBackward1": slice(0, 1),
    "MaskedFillBackward0": slice(2, 3),
    "WhereBackward0": slice(1, 3),
}
"""The operands that PyTorch counts among the next functions, by the node's name: numbers and masks are none."""


class Node:
    """One recorded operation.

    seq: its sequence number. What it links to and what it saved depends on the kind of its rule:
    ONE: `p` is the parent, `x` or `out` what was saved of the operand and the result;
    TWO and PRODUCT: `p` and `q` are the parents or None, `x`, `y` and `out` what was saved;
    MANY and OWNING: `p` is a tuple of parents or None, `x` a tuple (out, *operands), None where nothing is needed;
    with several outputs, `q` refers weakly to their nodes.
    Slots that were never set read as None. All nodes are of this one class and own no tuples where they can
    do without: that keeps backward quick and the garbage collector idle. A node that the user looks at
    becomes one of a class with the operation's name.
    """

    __slots__ = ("__weakref__", "hooks", "out", "p", "q", "rule", "seq", "x", "y")
    leaf = False
    nameless = True
    seq: int
    rule: Rule
    hooks: Any
    p: Any
    q: Any
    x: Any
    y: Any
    out: Any

    @property
    def parents(self) -> tuple:
        """The parent of each operand, None where no gradient is wanted."""
        kind = self.rule.kind
        return (self.p,) if kind == ONE else (self.p, self.q) if kind in (TWO, PRODUCT) else self.p

    @property
    def saved(self) -> tuple:
        """What was saved: (out, *operands). Raises RuntimeError when backward has freed it."""
        kind = self.rule.kind
        if self.rule.apply is second_time:
            raise RuntimeError(FREED)
        if kind in (MANY, OWNING):
            return self.x
        return (self.out, self.x) if kind == ONE else (self.out, self.x, self.y)

    @property
    def held(self) -> tuple:
        """What was saved, as it is kept."""
        return self.saved

    @property
    def outline(self) -> Any:
        """Shape and type of the result (a list of them for several), where the recorder noted them."""
        return self.y

    def standing_in(self, parents: tuple, wrap: Callable | None) -> Node:
        """Return a copy for one use, with other parents, and Tensors in place of saved arrays if wrap is given.

        The Tensors continue the graph: what was saved of an operand has the operand's node, the result this
        one.
        """
        saved = self.saved
        if wrap is not None and saved:
            nodes = (self, *self.parents)
            saved = tuple(
                wrap(x, node) if node is not None and is_array(x) else x for x, node in zip(saved, nodes, strict=True)
            )
            if self.q is not None and self.rule.kind == MANY and type(saved[0]) is tuple:
                saved = (self._outputs_as_tensors(saved[0], wrap), *saved[1:])
        copy = self.blank()
        copy.seq, copy.rule, copy.hooks = self.seq, self.rule, None
        if self.rule.kind in (MANY, OWNING):
            copy.p, copy.x = parents, saved
        else:
            copy.p, copy.q = (*parents, None)[:2]
            copy.out, copy.x, copy.y = (*saved, None)[:3]
        return copy

    def blank(self) -> Node:
        """Return an empty node of the same kind, for a copy."""
        return object.__new__(type(self))

    def _outputs_as_tensors(self, outs: tuple, wrap: Callable) -> tuple:
        """Return saved outputs, of which there are several, as Tensors with the nodes that they had."""
        nodes = [reference() or OutputNode(self, i) for i, reference in enumerate(self.q)]
        return tuple(
            wrap(x, node) if is_array(x) and x.dtype.kind in "fc" else x for x, node in zip(outs, nodes, strict=True)
        )

    def release(self) -> None:
        """Let go of what was saved."""
        self.x = self.y = self.out = None
        self.rule = spent(self.rule.name, self.rule.kind)

    def name(self) -> str:
        """Return the name of the operation, such as MulBackward0."""
        return self.rule.name

    def __repr__(self) -> str:
        address = f" object at {id(self):#x}" if naming.addresses else ""
        return f"<{self.name()}{address}>"

    @property
    def next_functions(self) -> tuple:
        """The nodes that gradients flow to next, each with the number of its output."""
        parents = self.parents[COUNTED.get(self.name(), slice(None))]
        return tuple((None, 0) if p is None else (p.public, p.output_nr) for p in parents)

    @property
    def output_count(self) -> int:
        """How many outputs the operation has."""
        return len(self.q) if self.rule.kind == MANY and type(self.q) is tuple else 1

    def output(self, place: int) -> Node:
        """Return the node of one output: the main node itself where there is only one."""
        several = self.rule.kind == MANY and type(self.q) is tuple
        return self.q[place]() or OutputNode(self, place) if several else self

    @property
    def public(self) -> Node:
        """The node that users see for this one."""
        if self.nameless:
            self.__class__ = named_class(self.name(), type(self))  # type: ignore[arg-type]
        return self

    @property
    def output_nr(self) -> int:
        """Which output of the public node this one stands for."""
        return 0

    @property
    def _input_metadata(self) -> list:
        from .edges import input_metadata

        return input_metadata(self)

    def _sequence_nr(self) -> int:
        return -self.seq

    def __call__(self, *grads: Any) -> Any:
        """Return what the node makes of the gradients of its outputs: one per input, alone where there is one."""
        from .edges import run_node

        return run_node(self, grads)

    @property
    def metadata(self) -> dict:
        """A dictionary for the user's own notes about this node."""
        return table_of(self).metadata

    def register_hook(self, hook: Any) -> Any:
        """Call hook(grad_inputs, grad_outputs) after the node ran; what it returns replaces grad_inputs."""
        return table_of(self).add("post", hook)

    def register_prehook(self, hook: Any) -> Any:
        """Call hook(grad_outputs) before the node runs; what it returns replaces them."""
        return table_of(self).add("pre", hook)

    def __getattr__(self, name: str) -> Any:
        if name in Node.__slots__:
            return None
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")


def relabel(result: Any, name: str) -> Any:
    """Return the result of an operation just recorded; its node gets another name."""
    node = getattr(result, "_node", None)
    if node is not None and not node.leaf:
        old = node.rule
        if old.kind in (MANY, OWNING):
            old.name = name
        else:
            node.rule = Rule(name, old.kind, old.apply, old.saves, old.primitive, old.params)
    return result


def name_nodes(result: Any, name: str, operands: Iterable) -> Any:
    """Give the nodes of a function's result, or results, the name under which PyTorch records the function.

    Graphs that are drawn keep the names of what was recorded.
    """
    if not state.observed:
        known = [getattr(x, "_node", None) for x in operands]
        for x in result if isinstance(result, tuple) else (result,):
            node = getattr(x, "_node", None)
            if node is not None and not isinstance(node, OutputNode) and not any(node is other for other in known):
                relabel(x, name)
    return result


def second_time(node: Node, g: Any, owned: bool = False) -> Any:
    """Refuse to run a node whose saved values are gone."""
    raise RuntimeError(FREED)


@functools.cache
def spent(name: str, kind: int) -> Rule:
    """Return the rule of nodes of this name and kind once they were freed."""
    return Rule(name, TWO if kind == PRODUCT else kind, second_time, False)


@functools.cache
def named_class(name: str, kind: Any) -> type:
    """Return the class that nodes of this name and kind have once they are looked at."""
    return type(name, (kind,), {"__slots__": (), "nameless": False})


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have "
    "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
    "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
    "you need to access saved tensors after calling backward."
)


def is_array(x: Any) -> bool:
    """Return whether x is raw data (an array or a NumPy scalar), not a shape or a Python number."""
    return isinstance(x, np.ndarray | np.generic)


class OutputNode(Node):
    """One output of a node that has several: it hands its cotangent on to its place."""

    __slots__ = ("index",)

    def standing_in(self, parents: tuple, wrap: Callable | None) -> Node:
        """Return a copy that knows its place too."""
        copy = super().standing_in(parents, wrap)
        copy.index = self.index  # type: ignore[attr-defined]
        return copy

    def __init__(self, main: Node, index: int):
        self.seq = next_seq()
        self.p = main
        self.rule = OUTPUT
        self.hooks = None
        self.index = index

    @property
    def public(self) -> Node:
        """The node with all the outputs."""
        return self.p.public

    @property
    def output_nr(self) -> int:
        """The place of this output."""
        return self.index


def hand_on(node: Any, g: Any) -> Slots:
    """Put a cotangent into its slot of the node with all the outputs."""
    return Slots({node.index: g})


OUTPUT = Rule("Output", ONE, hand_on, False)


class Slots(dict):
    """Cotangents of some outputs of a node, by place; adding two of them adds place by place."""

    def __add__(self, other: Slots) -> Slots:
        return Slots({**self, **{k: self[k] + g if k in self else g for k, g in other.items()}})
