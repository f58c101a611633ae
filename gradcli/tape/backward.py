"""The engine: nodes from the newest to the oldest, cotangents added where paths meet, memory freed on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from . import versions
from .hooks import checked, leaf_hooks, run_tensor_hooks
from .modes import set_grad_enabled, state
from .node import ONE, OWNING, PRODUCT, TWO, Node, Slots
from .record import cast
from .tensor import Tensor

Cotangent = Any
Roots = Sequence[tuple[Node, Cotangent]]


before_backward: list[Callable[[], None]] = []
"""Called when `backward` is about to start."""


class Plan:
    """What one backward pass is to do.

    retain: keep saved values for another pass. create: cotangents are Tensors and the pass is recorded.
    wanted: nodes whose cotangent is collected here (None: every leaf's `.grad` is added to).
    on_path: the nodes that lead to wanted ones. pending: for each leaf, how many cotangents it still gets.
    """

    def __init__(self, retain: bool, create: bool, wanted: dict[Node, Any] | None = None):
        self.retain = retain
        self.create = create
        self.wanted = wanted
        self.on_path: set[Node] | None = None
        self.pending: dict[Node, int] | None = None
        self.wrap = (lambda g: g) if create else (lambda g: Tensor._wrap(g, None))

    def run(self, roots: Roots) -> None:
        """Walk the graph from pairs of a node and its cotangent."""
        starts = [node for node, _ in roots]
        if self.wanted is not None:
            self.on_path = paths_to(starts, self.wanted)
            roots = [root for root in roots if root[0] in self.on_path]
        if leaf_hooks.count:
            self.pending = uses_of_leaves([node for node, _ in roots], self.on_path)
        special = state.anomaly or self.create or self.wanted is not None or self.pending is not None
        with set_grad_enabled(self.create), np.errstate(all="ignore"):
            (walk_with_plan if special else walk)(roots, self)

    def hooked(self, node: Node, g: Cotangent) -> Cotangent:
        """Run the hooks that come before a node; they may replace the cotangent."""
        table = node.hooks
        if table.tensor or table.retain:
            g = run_tensor_hooks(node, g, self)
        for hook in list(table.pre.values()):
            given = self.shown(node, g)
            result = hook(given)
            if result is not None:
                parts = self.replaced(given, result, hook)
                g = (
                    Slots({i: x for i, x in enumerate(parts) if x is not None}) if isinstance(g, Slots) else parts[0]
                )
        return g

    def shown(self, node: Node, g: Cotangent) -> tuple:
        """Return the cotangents of a node's outputs as hooks see them: None for one that has none."""
        if isinstance(g, Slots):
            return tuple(self.wrap(g[i]) if i in g else None for i in range(len(node.q)))
        return (self.wrap(g),)

    def replaced(self, given: tuple, result: Any, hook: Any) -> tuple:
        """Return what a node's hook made of gradients. Raises RuntimeError for another count, type or shape."""
        result = as_tuple(result)
        name = getattr(hook, "__name__", type(hook).__name__)
        if len(result) != len(given):
            raise RuntimeError(
                f"hook '{name}' has returned an incorrect number of values (got {len(result)}, but expected "
                f"{len(given)})"
            )
        if any(old is None and new is not None for old, new in zip(given, result, strict=True)):
            raise RuntimeError(f"hook '{name}': can't replace a None gradient with a non-None value")
        return tuple(
            None if new is None else self.unwrap(new if new is old else checked(new, old, hook))
            for old, new in zip(given, result, strict=True)
        )

    def unwrap(self, tensor: Tensor) -> Cotangent:
        """Return a hook's Tensor as this pass carries cotangents."""
        return tensor if self.create else tensor._data

    def after(self, node: Node, grads: tuple, g: Cotangent) -> tuple:
        """Run the hooks that come after a node; they may replace what it hands to its parents."""
        for hook in list(node.hooks.post.values()):
            given = tuple(
                None if x is None or p is None else self.wrap(x) for x, p in zip(grads, node.parents, strict=True)
            )
            result = hook(given, self.shown(node, g))
            if result is not None:
                grads = self.replaced(given, result, hook)
        return grads

    def arrived(self, node: Node, g: Cotangent, owned: bool) -> tuple:
        """Deal with a leaf or a wanted node; return its parents, None for those that lead nowhere."""
        if self.wanted is not None and node in self.wanted:
            self.wanted[node] = g
        if node.leaf:
            if self.wanted is None:
                node.accumulate(g, owned, self.create)
                if node.hooks is not None:
                    for hook in list(node.hooks.accumulated.values()):
                        hook(node.variable)
            return ()
        parents = node.parents
        if self.on_path is not None:
            parents = tuple(p if p in self.on_path else None for p in parents)
        return parents if any(p is not None for p in parents) else ()

    def deliver(self, parents: Sequence, grads: Sequence, waiting: dict[int, list]) -> tuple[list, list]:
        """Send cotangents to leaves, each of which is finished as soon as its last one is there.

        Returns the parents that are no leaves, and their cotangents.
        """
        assert self.pending is not None
        rest: tuple[list, list] = ([], [])
        for parent, g in zip(parents, grads, strict=True):
            if parent is None or not parent.leaf:
                rest[0].append(parent)
                rest[1].append(g)
                continue
            held = waiting.pop(parent.seq, [parent, False, None])
            if g is not None:
                held[2] = g if held[2] is None else held[2] + g
            self.pending[parent] -= 1
            if self.pending[parent]:
                waiting[parent.seq] = held
            elif held[2] is not None:
                g = held[2]
                self.arrived(parent, g if parent.hooks is None else self.hooked(parent, g), False)
        return rest


def walk(roots: Roots, plan: Plan) -> None:
    """Run every node that the roots lead to, newest first: the loop that backward's speed hangs on.

    A cotangent that waits for others is an entry [node, whether the sum's memory is ours, sum]. The newest
    parent of the node just run is not queued at all when nothing newer waits.
    """
    frees, newest = not plan.retain, versions.newest
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
        rule = node.rule
        if node.hooks is not None:
            g, owned = plan.hooked(node, g), False
            if node.hooks.post:
                send_all(node, plan.after(node, grads_of(node, g), g), plan, waiting, heap)
                node = None
                continue
        if newest.seq < node.seq and rule.saves:
            versions.check_unchanged(node, node.saved)
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
                if second is node:
                    g = g + other
                elif (entry := waiting.get(second.seq)) is not None and entry[1]:
                    entry[2] += other
                else:
                    send(second, other, waiting, heap)
        else:
            if node.leaf:
                plan.arrived(node, g, owned)
            elif kind == OWNING:
                send_owned(node, g, rule.apply(node, g, owned), owned, plan, waiting, heap)
            else:
                send_all(node, rule.apply(node, g), plan, waiting, heap)
            node = None
            continue
        seq = node.seq
        if seq in waiting:
            add(waiting[seq], g)
            node = None
        elif heap and heap[0] < seq:
            send(node, g, waiting, heap)
            node = None


def grads_of(node: Node, g: Cotangent) -> tuple:
    """Return what a node hands to its parents, as a tuple."""
    rule = node.rule
    if rule.kind == OWNING:
        return rule.apply(node, g, False)
    return (rule.apply(node, g),) if rule.kind == ONE else rule.apply(node, g)


def add(entry: list, gradient: Cotangent) -> None:
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
        add(waiting[seq], gradient)
    else:
        waiting[seq] = [node, False, gradient]
        heappush(heap, seq)


def send_owned(
    node: Node, g: Cotangent, grads: tuple, owned: bool, plan: Plan, waiting: dict[int, list], heap: list[int]
) -> None:
    """Send large cotangents to a node's parents, noting whose memory nobody else holds."""
    passed_on = sum(gradient is g for gradient in grads)
    for parent, gradient in zip(node.p, grads, strict=True):
        if gradient is None:
            continue
        mine = type(gradient) is np.ndarray and gradient.base is None
        mine = mine and (gradient is not g or (owned and passed_on == 1))
        entry = waiting.get(parent.seq)
        if entry is None:
            waiting[parent.seq] = [parent, mine, gradient]
            heappush(heap, parent.seq)
        elif mine and not entry[1]:
            gradient += entry[2]
            entry[1:] = [True, gradient]
        else:
            add(entry, gradient)
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
        if node.hooks is not None:
            g, owned = plan.hooked(node, g), False
        parents = plan.arrived(node, g, owned)
        if not parents:
            continue
        if versions.newest.seq < node.seq and node.rule.saves:
            versions.check_unchanged(node, node.saved)
        rule = node.rule
        grads = grads_of(node.standing_in(parents, Tensor._wrap if plan.create else None), g)
        if node.hooks is not None and node.hooks.post:
            grads = plan.after(node, grads, g)
        if state.anomaly:
            from .anomaly import check_gradients

            check_gradients(node, grads)
        if not plan.retain and rule.saves:
            node.release()


def reachable(starts: Iterable[Node]) -> list[Node]:
    """Return all nodes that the starts lead to, oldest first."""
    found = set(starts)
    stack = list(found)
    while stack:
        for parent in stack.pop().parents:
            if parent is not None and parent not in found:
                found.add(parent)
                stack.append(parent)
    return sorted(found, key=lambda node: -node.seq)


def paths_to(starts: Iterable[Node], wanted: Iterable[Node]) -> set[Node]:
    """Return the nodes on any path from the starts to a wanted node, ends included."""
    on_path = set(wanted)
    for node in reachable(starts):
        if any(p in on_path for p in node.parents):
            on_path.add(node)
    return on_path


def uses_of_leaves(starts: Sequence[Node], on_path: set[Node] | None) -> dict[Node, int]:
    """Return how many cotangents each reachable leaf will be sent."""
    uses: dict[Node, int] = {}
    for node in starts:
        if node.leaf:
            uses[node] = uses.get(node, 0) + 1
    for node in reachable(starts):
        if on_path is None or node in on_path:
            for parent in node.parents:
                if parent is not None and parent.leaf and (on_path is None or parent in on_path):
                    uses[parent] = uses.get(parent, 0) + 1
    return uses


# -- what users call -----------------------------------------------------------------------------


def as_tuple(x: Any) -> tuple:
    """Return one tensor or a sequence of them as a tuple."""
    return tuple(x) if isinstance(x, tuple | list) else (x,)


def cotangent_for(output: Tensor, given: Any, create: bool) -> Cotangent:
    """Return the vector to start backward with at an output; 1 where none is given for a single element.

    Raises RuntimeError for a missing vector of a non-scalar and for one of another shape.
    """
    if given is None:
        if output._data.size != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs, this one has shape {list(output.shape)}; "
                "pass a gradient of that shape"
            )
        if output._data.dtype.kind == "c":
            raise RuntimeError("grad can be implicitly created only for real scalar outputs but got a complex one")
        raw = np.ones_like(output._data)[()] if output._data.ndim == 0 else np.ones_like(output._data)
        return Tensor._wrap(raw, None) if create else raw
    if not isinstance(given, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(given).__name__}")
    if given._data.shape != output._data.shape:
        raise RuntimeError(
            f"Mismatch in shape: the gradient has a shape of {list(given.shape)} and the output has a shape of "
            f"{list(output.shape)}."
        )
    if given._data.dtype.kind == "c" and output._data.dtype.kind != "c":
        raise RuntimeError("a complex gradient was given for a real output")
    return given if create else given._data


def roots_of(outputs: tuple, vectors: Any, create: bool) -> list[tuple[Node, Cotangent]]:
    """Return the nodes and cotangents that backward starts with."""
    vectors = (None,) * len(outputs) if vectors is None else as_tuple(vectors)
    if len(vectors) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(vectors)} gradients")
    roots = []
    for output, vector in zip(outputs, vectors, strict=True):
        if output._node is None:
            raise RuntimeError(
                "element 0 of tensors does not require grad and does not have a grad_fn"
                if len(outputs) == 1
                else "one of the tensors does not require grad and does not have a grad_fn"
            )
        roots.append((output._node, cotangent_for(output, vector, create)))
    return roots


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradient of the tensors (times grad_tensors) to the leaves' `.grad`.

    inputs: only these get a gradient; non-leaves may be among them. Raises RuntimeError when the graph was
    freed, when nothing requires grad, or when a vector is missing or has the wrong shape.
    """
    for listener in before_backward:
        listener()
    outputs = as_tuple(tensors)
    plan = Plan(create_graph if retain_graph is None else retain_graph, create_graph)
    roots = roots_of(outputs, grad_tensors if grad_tensors is not None else grad_variables, create_graph)
    if inputs is None:
        plan.run(roots)
        return
    targets = as_tuple(inputs)
    if not targets:
        raise RuntimeError("'inputs' argument to backward cannot be empty.")
    if any(t._node is None for t in targets):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    plan.wanted = dict.fromkeys((t._node for t in targets), None)
    plan.run(roots)
    for t in targets:
        g = plan.wanted[t._node]
        if g is not None:
            g = cast(plan.wrap(g), t._data.dtype) if create_graph else Tensor._wrap(np.array(g, t._data.dtype), None)
            t._grad = g if t._grad is None else t._grad + g


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple:
    """Return the gradients of the outputs (times grad_outputs) for the inputs, a tuple like `inputs`.

    With is_grads_batched, grad_outputs have a leading axis and so have the results. Raises RuntimeError for
    an input that the outputs do not depend on, unless allow_unused (None is returned) or materialize_grads
    (zeros are returned).
    """
    outputs, targets = as_tuple(outputs), as_tuple(inputs)
    if not targets:
        raise ValueError("grad requires non-empty inputs.")
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got False")
    if any(t._node is None for t in targets):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    plan = Plan(
        create_graph if retain_graph is None else retain_graph,
        create_graph,
        dict.fromkeys(t._node for t in targets),
    )
    if is_grads_batched:
        roots = batched_roots(outputs, grad_outputs, create_graph)
    else:
        roots = roots_of(outputs, grad_outputs, create_graph)
    plan.run(roots)
    lead = roots[0][1].shape[:1] if is_grads_batched else ()
    return tuple(_result(plan, t, lead, bool(allow_unused), materialize_grads) for t in targets)


def _result(plan: Plan, target: Tensor, lead: tuple, allow_unused: bool, materialize: bool) -> Tensor | None:
    assert plan.wanted is not None
    g = plan.wanted[target._node]
    data = target._data
    if g is None:
        if materialize:
            return Tensor._wrap(np.zeros(lead + data.shape, data.dtype), None)
        if not allow_unused:
            raise RuntimeError(
                "One of the differentiated Tensors appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
        return None
    if plan.create:
        return cast(g, data.dtype)
    return Tensor._wrap(np.array(g, data.dtype) if g.base is not None or g.dtype != data.dtype else g, None)


def batched_roots(outputs: tuple, vectors: Any, create: bool) -> list[tuple[Node, Cotangent]]:
    """Return the roots for cotangents with one more axis in front."""
    roots = []
    for output, vector in zip(outputs, as_tuple(vectors), strict=True):
        if output._node is None:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        if vector is None or vector._data.shape[1:] != output._data.shape:
            shape = None if vector is None else list(vector.shape)
            raise RuntimeError(
                f"is_grads_batched needs grad_outputs of shape [N, *{list(output.shape)}], got {shape}"
            )
        roots.append((output._node, vector if create else vector._data))
    return roots


__all__ = ["Plan", "backward", "grad", "reachable", "state"]
