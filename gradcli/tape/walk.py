"""What nodes do with a cotangent, and the loops that carry cotangents from the newest node to the oldest."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from ..rules.shapes import fit
from . import versions
from .modes import state
from .node import ONE, OWNING, PRODUCT, TWO, Node, Slots
from .tensor import Tensor

if TYPE_CHECKING:
    from .plan import Plan


def apply_rules(node: Node, g: Any) -> tuple:
    """Call the vector-Jacobian product of every operand that wants a cotangent."""
    primitive, params = node.rule.primitive, node.rule.params
    saved, parents = node.x, node.p
    if primitive.arity is None:
        (rule,) = primitive.rules
        out, *xs = saved
        return tuple(None if p is None else rule(g, i, out, xs, **params) for i, p in enumerate(parents))
    rules = primitive.rules
    if len(parents) == 1 and parents[0] is not None:
        return (rules[0](g, *saved, **params),)
    return tuple(None if p is None else rule(g, *saved, **params) for p, rule in zip(parents, rules, strict=True))


def apply_several(node: Node, g: Slots) -> tuple:
    """The same for a node with several outputs: rules get a list, None where an output was not used."""
    return apply_rules(node, [g.get(i) for i in range(node.rule.primitive.outputs)])


def apply_partials(node: Node, g: Any) -> tuple:
    """Multiply by partial derivatives, where shapes mix, operands are complex, or there are parameters."""
    params, shapes, ndim, conjugate = node.rule.params
    primitive = node.rule.primitive
    pair = primitive.pair
    if pair is not None and not conjugate:
        both = pair(g, *node.x, *[p is not None for p in node.p])
        if both is not None:
            return tuple(x if x is None else fit(x, shape, ndim) for x, shape in zip(both, shapes, strict=True))
    grads: list = []
    for p, partial, shape in zip(node.p, primitive.rules, shapes, strict=True):
        if p is None:
            grads.append(None)
            continue
        if not callable(partial):
            grads.append(fit(scale_by_constant(g, partial), shape, ndim))
            continue
        factor = partial(*node.x, **params)
        grads.append(fit(g * (np.conj(factor) if conjugate else factor), shape, ndim))
    return tuple(grads)


def apply_large(node: Node, g: Any, owned: bool) -> tuple:
    """Multiply large arrays by partial derivatives, into memory that is at hand where there is some.

    owned: nobody else holds g, so its memory may be used once nothing more is computed from it.
    """
    params, shapes, ndim, _ = node.rule.params
    wanted = [i for i, p in enumerate(node.p) if p is not None]
    pair = node.rule.primitive.pair
    if pair is not None and len(wanted) == 2 and (both := pair(g, *node.x, True, True)) is not None:
        return tuple(fit(x, shape, ndim) for x, shape in zip(both, shapes, strict=True))
    grads: list = [None] * len(node.p)
    for i in wanted:
        partial, shape = node.rule.primitive.rules[i], shapes[i]
        free = owned and i == wanted[-1] and not any(x is g for x in grads)
        if callable(partial):
            factor = partial(*node.x, **params)
            room = g if free else factor if not any(factor is x for x in node.x) else None
            result = product_into(g, factor, room)
        elif constant_is_sign(partial):
            result = g if partial == 1 else np.negative(g, out=g if free else None)
        else:
            result = scale_by_constant(g, partial)
        grads[i] = fit(result, shape, ndim)
    return tuple(grads)


def constant_is_sign(partial: Any) -> bool:
    """Return whether a constant partial derivative is 1 or -1."""
    return partial in (1, -1)


def is_one(g: Any) -> bool:
    """Return whether a cotangent is the number 1 broadcast to a shape: what the sum of a loss sends back."""
    return type(g) is np.ndarray and not any(g.strides) and g.size > 0 and g.item(0) == 1


def product_into(g: Any, factor: Any, room: Any) -> Any:
    """Return g * factor, written into `room` if that is an array of the result's shape and type.

    What is not to be written into later is returned as a view.
    """
    if is_one(g) and np.shape(factor) == g.shape and factor.dtype == g.dtype:
        return factor if room is factor else factor.view()
    if (
        type(room) is np.ndarray
        and room.shape == g.shape == np.shape(factor)
        and room.dtype == g.dtype
        and getattr(factor, "dtype", g.dtype) == g.dtype
        and room.flags.writeable
        and room.base is None
    ):
        return np.multiply(g, factor, out=room)
    return g * factor


def scale_by_constant(g: Any, constant: float) -> Any:
    """Return g times a constant partial derivative; 0 gives zeros, whatever g holds."""
    if constant == 0:
        return np.zeros_like(g)
    return g if constant == 1 else -g if constant == -1 else g * constant


Cotangent = Any
Roots = Sequence[tuple[Node, Cotangent]]


def walk(roots: Roots, plan: Plan) -> None:
    """Run every node that the roots lead to, newest first: the loop that backward's speed hangs on.

    A cotangent that waits for others is an entry [node, whether the sum's memory is ours, sum]. The newest
    parent of the node just run is not queued at all when nothing newer waits.
    """
    frees, newest, accumulates = not plan.retain, versions.newest, plan.wanted is None
    waiting: dict[int, list] = {}
    heap: list[int] = []
    for start, vector in roots:
        send(start, vector, waiting, heap)
    node: Any = None
    owned = False
    while True:
        if node is None:
            if not heap:
                return
            node, owned, g = waiting.pop(heappop(heap))
        if node.hooks is not None and not node.leaf:
            g, owned = plan.hooked(node, g), False
            if node.hooks.post or node.hooks.packed:
                run_hooked(node, g, plan, waiting, heap)
                node = None
                continue
        rule = node.rule
        if newest.seq < node.seq and rule.saves:
            versions.check_unchanged(node, node.held)
        kind = rule.kind
        if kind == ONE:
            g = rule.apply(node, g)
            owned = False
            if frees and rule.saves:
                node.x = node.out = None
                node.rule = rule.spent
            node = node.p
        elif kind == TWO or kind == PRODUCT:  # noqa: SIM109 - a tuple costs time here
            if kind == TWO:
                g, other = rule.apply(node, g)
            else:  # the commonest operation is spared the call
                other = None if node.q is None else g * node.x
                g = None if node.p is None else g * node.y
            owned = False
            if frees and rule.saves:
                node.x = node.y = node.out = None
                node.rule = rule.spent
            second = node.q
            node = node.p
            if node is None:
                node, g = second, other
            elif second is not None:
                if second.seq < node.seq:
                    node, g, second, other = second, other, node, g
                if second is node and node.seq in waiting:
                    add_to_waiting(waiting[node.seq], g)
                    g = other
                elif second is node:
                    g = g + other
                elif (entry := waiting.get(second.seq)) is not None and entry[1]:
                    entry[2] += other
                else:
                    send(second, other, waiting, heap)
        elif node.leaf:
            if accumulates and node.hooks is None:
                node.accumulate(g, owned, False)
            else:
                plan.arrived(node, g, owned)
            node = None
            continue
        elif kind == OWNING:
            send_owned(node, g, rule.apply(node, g, owned), owned, plan, waiting, heap)
            node = None
            continue
        else:
            grads = rule.apply(node, g)
            parent = node.parents[0]
            if len(grads) > 1 or parent is None or grads[0] is None:
                send_all(node, grads, plan, waiting, heap)
                node = None
                continue
            (g,), grads, owned = grads, None, False
            if frees and rule.saves:
                node.release()
            node = parent
        seq = node.seq
        if seq in waiting:
            add_to_waiting(waiting[seq], g)
            node = None
        elif heap and heap[0] < seq:
            send(node, g, waiting, heap)
            node = None


def run_hooked(node: Any, g: Cotangent, plan: Plan, waiting: dict[int, list], heap: list[int]) -> None:
    """Run a node that has hooks after it, or keeps its saved values packed."""
    if versions.newest.seq < node.seq and node.rule.saves:
        versions.check_unchanged(node, node.held)
    runner = node.standing_in(node.parents, None) if node.hooks.packed else node
    send_all(node, plan.after(node, grads_of(runner, g), g), plan, waiting, heap)


def grads_of(node: Node, g: Cotangent) -> tuple:
    """Return what a node hands to its parents, as a tuple."""
    rule = node.rule
    if rule.kind == OWNING:
        return rule.apply(node, g, False)
    return (rule.apply(node, g),) if rule.kind == ONE else rule.apply(node, g)


def add_to_waiting(entry: list, gradient: Cotangent) -> None:
    """Add a cotangent to what waits for a node: in place where the memory of the sum is ours."""
    if entry[1]:
        entry[2] += gradient
    else:
        entry.append(entry.pop() + gradient)  # popped, so that NumPy may reuse its memory if nobody else has it
        entry[1] = type(gradient) is np.ndarray


def send(node: Node, gradient: Cotangent, waiting: dict[int, list], heap: list[int]) -> None:
    """Add a cotangent to what waits for a node; a node that has none yet is queued."""
    seq = node.seq
    if seq in waiting:
        add_to_waiting(waiting[seq], gradient)
    else:
        waiting[seq] = [node, False, gradient]
        heappush(heap, seq)


def send_owned(
    node: Node, g: Cotangent, grads: tuple, owned: bool, plan: Plan, waiting: dict[int, list], heap: list[int]
) -> None:
    """Send large cotangents to a node's parents, noting whose memory nobody else holds."""
    for parent, gradient in zip(node.p, grads, strict=True):
        if gradient is None:
            continue
        mine = type(gradient) is np.ndarray and gradient.base is None
        if gradient is g:
            mine = mine and owned and sum(other is g for other in grads) == 1
        seq = parent.seq
        entry = waiting.get(seq)
        if entry is None:
            waiting[seq] = [parent, mine, gradient]
            heappush(heap, seq)
        elif mine and not entry[1]:
            gradient += entry[2]
            entry[1:] = [True, gradient]
        else:
            add_to_waiting(entry, gradient)
    if not plan.retain and node.rule.saves:
        node.release()


def send_all(node: Node, grads: tuple, plan: Plan, waiting: dict[int, list], heap: list[int]) -> None:
    """Send cotangents to a node's parents and free what the node saved."""
    for parent, gradient in zip(node.parents, grads, strict=True):
        if gradient is not None and parent is not None:
            send(parent, gradient, waiting, heap)
    if not plan.retain and node.rule.saves:
        node.release()


def walk_with_plan(roots: Roots, plan: Plan) -> None:
    """The same walk where cotangents are Tensors, only some paths count, or leaves have hooks."""
    waiting: dict[int, list] = {}
    heap: list[int] = []
    parents: Sequence = [node for node, _ in roots]
    grads: Sequence = [g for _, g in roots]
    while True:
        if plan.pending is not None:
            parents, grads = plan.deliver(parents, grads, waiting)
        for parent, gradient in zip(parents, grads, strict=True):
            if gradient is not None and parent is not None:
                send(parent, gradient, waiting, heap)
        parents = grads = ()
        if not heap:
            return
        node, owned, g = waiting.pop(heappop(heap))
        parents, g = plan.arrived(node, g, owned)
        if not parents:
            continue
        saves = node.rule.saves
        if state.anomaly:
            from .anomaly import run_observed

            grads = run_observed(run_planned, node, parents, g, plan)
        else:
            grads = run_planned(node, parents, g, plan)
        if not plan.retain and saves:
            node.release()


def run_planned(node: Any, parents: tuple, g: Cotangent, plan: Plan) -> tuple:
    """Return what a node hands to its parents, some of which may want nothing."""
    if versions.newest.seq < node.seq and node.rule.saves:
        versions.check_unchanged(node, node.held)
    grads = grads_of(node.standing_in(parents, Tensor._wrap if plan.create else None), g)
    return plan.after(node, grads, g) if node.hooks is not None and node.hooks.post else grads
