"""Rules: how a cotangent passes a node."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

USED_UP = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have "
    "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
    "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
    "you need to access saved tensors after calling backward."
)

Pairs = Sequence[tuple[Any, Any]]
"""Nodes with the cotangents that they are sent."""


class Rule:
    """How a cotangent passes a node: shared by the nodes of a quick recorder, made per call elsewhere.

    send(node, g): pairs of each parent and its cotangent, None where none is wanted. saves: whether the node keeps
    anything that backward frees. fresh: whether a cotangent is memory that nobody else holds, unless it is g itself
    or a view. primitive, params: the entry of the table and how it was called. arity: 1 or 2 where nodes keep parents
    and values in slots. broadcast: of an elementwise operation whose operands differ in shape, or are complex, what
    undoes that: their shapes, the result's rank, whether to conjugate. used_up: the rule of a node that was freed,
    where it is known beforehand.
    """

    __slots__ = ("arity", "broadcast", "fresh", "name", "params", "primitive", "saves", "send", "used_up")

    def __init__(
        self,
        name: str,
        send: Callable[[Any, Any], Iterable[tuple]],
        saves: bool = False,
        primitive: Any = None,
        params: dict | None = None,
        *,
        fresh: bool = False,
        broadcast: tuple | None = None,
        arity: int | None = None,
    ):
        self.name = name
        self.send = send
        self.saves = saves
        self.primitive = primitive
        self.params = {} if params is None else params
        self.fresh = fresh
        self.broadcast = broadcast
        self.arity = arity
        self.used_up: Rule | None = None if arity is None else used_up_rule(name, arity)

    def vjp(self, node: Any, g: Any) -> tuple:
        """Return one cotangent per parent of a node, None where none is wanted."""
        return tuple([part for _, part in self.send(node, g)])

    def rename(self, name: str) -> Rule:
        """Return the same rule under another name."""
        return Rule(
            name,
            self.send,
            self.saves,
            self.primitive,
            self.params,
            fresh=self.fresh,
            broadcast=self.broadcast,
            arity=self.arity,
        )


def to_parents(vjp: Callable[[Any, Any], tuple]) -> Callable[[Any, Any], Iterable[tuple]]:
    """Return what sends the cotangents that a function returns, one per parent, to the parents."""
    return lambda node, g: zip(node.all_parents, vjp(node, g), strict=True)


def refuse_again(node: Any, g: Any) -> tuple:
    """Refuse to run a node whose saved values are gone."""
    raise RuntimeError(USED_UP)


@functools.cache
def used_up_rule(name: str, arity: int | None = None) -> Rule:
    """Return the rule of nodes of a name and an arity once they were freed."""
    rule = Rule(name, refuse_again)
    rule.arity = arity
    return rule
