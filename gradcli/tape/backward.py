"""Backward: the functions that users call, the plan of one pass, and the walk from the newest node to the oldest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..errors import add_advice
from .dtypes import as_dtype
from .memory import newest
from .modes import observers, record_in_this_thread, report_event, state
from .node import AccumulateGrad, Node, NodePairs, Slots, used_up_rule
from .record import cast
from .tensor import Size, Tensor

Cotangent = Any


def walk(roots: NodePairs, plan: Plan) -> None:
    """Run every node reachable from the roots, newest first.

    An operation is recorded after its operands. So if the newest waiting node runs next, all cotangents of that node
    have arrived: nothing that runs later can send it another one.

    waiting: by sequence number, an entry [node, sum, owned] for each node that has received cotangents and has not run.
    heap: the sequence numbers of these nodes; a newer node has a smaller number. owned: the sum may be changed in
    place, because its memory was allocated here or by a rule marked as fresh.
    """
    frees, latest, is_special, pending, wanted = not plan.retain, newest, plan.is_special, plan.pending, plan.wanted
    waiting: dict[int, list] = {}
    heap: list[int] = []
    node: Any = None
    for start, vector in roots if pending is None else plan.deliver(roots, waiting):
        send(start, vector, waiting, heap)
    while True:
        # Choose the node to run: a parent of the last one, if no newer node waits, else the newest waiting node.
        if node is None:
            if not heap:
                break
            node, g, owned = waiting.pop(heappop(heap))
        # Run it. A leaf keeps its cotangent; any other node turns it into pairs of a parent and its cotangent.
        rule = node.rule
        if is_special or node.hooks is not None:
            pairs = plan.visit(node, g, owned)
            if pairs is None:
                node = None
                continue
        elif rule.saves:
            if latest.seq < node.seq:
                node.check_unchanged()
            pairs = rule.send(node, g)
        elif node.leaf:
            if wanted is None:
                node.accumulate(g, owned, False)
            else:
                wanted[node] = g
            node = None
            continue
        else:
            pairs = rule.send(node, g)
        if frees and rule.saves:
            node.kept_out = node.kept_x = node.kept_y = node.all_kept = None
            node.rule = rule.used_up or used_up_rule(rule.name)
        if pending is not None:
            pairs = plan.deliver(pairs, waiting)
        # Add each cotangent to the sum that waits for its parent. The newest parent without such a sum is held back in
        # `node` instead of being queued, which halves the time for a chain of operations.
        received, node = g, None
        for parent, part in pairs:
            if parent is None or part is None:
                continue
            seq = parent.seq
            if seq in waiting:
                entry = waiting[seq]
                if entry[2]:
                    entry[1] += part
                else:
                    entry[1] = entry[1] + part
                    entry[2] = type(part) is np.ndarray
            elif node is None:
                node, g, first = parent, part, seq
            elif seq == first:
                g = g + part
            else:
                if seq < first:
                    node, g, parent, part, seq, first = parent, part, node, g, first, seq
                waiting[seq] = [parent, part, parent.leaf and rule.fresh and is_mine(part, received)]
                heappush(heap, seq)
        if node is None:
            continue
        owned = node.leaf and rule.fresh and is_mine(g, received)
        if heap and heap[0] < first:
            waiting[first] = [node, g, owned]
            heappush(heap, first)
            node = None
    for held, total, _ in waiting.values():  # leaves still waiting for a node that received no cotangent
        if total is not None:
            plan.arrive(held, total, False)


def is_mine(g: Cotangent, received: Cotangent) -> bool:
    """Report whether a cotangent that a rule returned has its own memory: it is not the received one, nor a view."""
    return type(g) is np.ndarray and g is not received and g.base is None


def as_tuple(x: Any) -> tuple:
    return tuple(x) if isinstance(x, tuple | list) else (x,)


def send(node: Node, gradient: Cotangent, waiting: dict[int, list], heap: list[int]) -> None:
    """Add a cotangent to the sum waiting for a node; queue the node if it has none yet."""
    entry = waiting.get(node.seq)
    if entry is None:
        waiting[node.seq] = [node, gradient, False]
        heappush(heap, node.seq)
    else:
        entry[1] = entry[1] + gradient


class Plan:
    """The options and the state of one backward pass.

    retain: keep saved values for another pass. create: cotangents are Tensors and the pass is recorded. wanted: nodes
    whose cotangents are collected here (None: add to every leaf's `.grad`). accumulates: also add to wanted leaves.
    on_path: the nodes that lead to wanted ones. pending: the number of cotangents still to come, by leaf. is_special:
    visit nodes one by one even if they have no hooks.
    """

    def __init__(self, retain: bool, create: bool, wanted: dict[Node, Any] | None = None, accumulates: bool = False):
        self.accumulates = accumulates or wanted is None
        self.retain = retain
        self.create = create
        self.wanted = wanted
        self.is_special = False
        self.on_path: set[Node] | None = None
        self.pending: dict[Node, int] | None = None
        self.wrap = (lambda g: g) if create else (lambda g: Tensor._wrap(g, None))

    def run(self, roots: NodePairs) -> dict[Node, Any]:
        """Walk the graph from `roots`, pairs of a node and its cotangent; return the cotangents of wanted nodes."""
        selects = self.wanted is not None and self.selects([node for node, _ in roots], self.wanted)
        if self.on_path is not None:
            roots = [root for root in roots if root[0] in self.on_path]
        if AccumulateGrad.hooked and any(leaf.hooks for leaf in AccumulateGrad.hooked):
            self.pending = uses_of_leaves([node for node, _ in roots], self.on_path)
        records = state.grad
        self.is_special = state.anomaly or self.create or selects or self.pending is not None
        try:
            record_in_this_thread(self.create)
            with np.errstate(all="ignore"):
                walk(roots, self)
        finally:
            record_in_this_thread(records)
        return self.wanted or {}

    def selects(self, starts: list[Node], wanted: dict[Node, Any]) -> bool:
        """Find the paths to wanted nodes; report whether the pass differs from running every node to the leaves."""
        nodes = reachable(starts)
        self.on_path = path = set(wanted)
        for node in nodes:  # the oldest first
            if any(p in path for p in node.parents):
                path.add(node)
        is_whole = self.on_path.issuperset(nodes) and all(node.leaf for node in wanted)
        return self.accumulates or not is_whole

    def visit(self, node: Node, g: Cotangent, owned: bool) -> NodePairs | None:
        """Run one node with its hooks; return its parents with their cotangents, or None if it was not run."""
        parents, g = self.arrive(node, g, owned)
        if not parents:
            return None
        if state.anomaly:
            from .anomaly import run_observed

            return run_observed(self.run_node, node, parents, g)
        return self.run_node(node, parents, g)

    def run_node(self, node: Node, parents: tuple, g: Cotangent) -> NodePairs:
        """Run a node; return its parents with their cotangents, None for parents that are not wanted."""
        if newest.seq < node.seq and node.rule.saves:
            node.check_unchanged()
        runner = node.standing_in(parents, Tensor._wrap if self.create else None)
        pairs = list(runner.rule.send(runner, g))
        return self.after(node, pairs, g) if node.hooks is not None and node.hooks.post else pairs

    def before(self, node: Node, g: Cotangent) -> Cotangent:
        """Run a node's pre-hooks; return the cotangent, which they may have replaced."""
        for hook in list(node.hooks.pre.values()):
            given = self.as_seen_by_hooks(node, g)
            result = hook(given)
            if result is not None:
                parts = self.replace_gradients(given, result, hook)
                g = Slots({i: x for i, x in enumerate(parts) if x is not None}) if isinstance(g, Slots) else parts[0]
        return g

    def as_seen_by_hooks(self, node: Node, g: Cotangent) -> tuple:
        """Return the cotangents of a node's outputs in the form passed to hooks, None for unused outputs."""
        if isinstance(g, Slots):
            return tuple(self.wrap(g[i]) if i in g else None for i in range(node.output_count))
        return (self.wrap(g),)

    def replace_gradients(self, given: tuple, result: Any, hook: Any) -> tuple:
        """Check a node hook's result and return it in this pass's form of cotangents."""
        from .hooks import check_hook_results

        return tuple(None if x is None else self.unwrap(x) for x in check_hook_results(result, given, hook))

    def unwrap(self, tensor: Tensor) -> Cotangent:
        return tensor if self.create else tensor._data

    def after(self, node: Node, pairs: NodePairs, g: Cotangent) -> NodePairs:
        """Run a node's post-hooks, which may replace the cotangents of its parents."""
        parents, grads = zip(*pairs, strict=True)
        for hook in list(node.hooks.post.values()):
            given = tuple(
                None if x is None or p is None else self.wrap(x) for x, p in zip(grads, node.parents, strict=True)
            )
            result = hook(given, self.as_seen_by_hooks(node, g))
            if result is not None:
                grads = self.replace_gradients(given, result, hook)
        return list(zip(parents, grads, strict=True))

    def arrive(self, node: Node, g: Cotangent, owned: bool) -> tuple[tuple, Cotangent]:
        """Run a node's hooks on its cotangent; add the result to a leaf, or collect it for a wanted node.

        Returns the parents to send to (None for those that lead to no wanted node, () if the node should not run) and
        the cotangent. As in PyTorch, a wanted node collects the cotangent from after its hooks, or from before them if
        the node also runs.
        """
        table, received = node.hooks, g
        if table is not None:
            from .hooks import run_tensor_hooks

            g, owned = run_tensor_hooks(node, g, self), False
        parents = () if node.leaf else node.parents
        if self.on_path is not None:
            parents = tuple(p if p in self.on_path else None for p in parents)
        leads_on = any(p is not None for p in parents)
        if self.wanted is not None and node in self.wanted:
            self.wanted[node] = received if leads_on else g
        if node.leaf:
            if self.accumulates:
                self.add_to_leaf(node, g, owned)
            return (), g
        if table is not None and (leads_on or self.accumulates):
            g = self.before(node, g)
        return (parents if leads_on else ()), g

    def add_to_leaf(self, node: Any, g: Cotangent, owned: bool) -> None:
        """Add a cotangent to a leaf's `.grad`, and run the leaf's hooks before and after."""
        if node.hooks is None:
            node.accumulate(g, owned, self.create)
            return
        g = self.before(node, g)
        leaf = node.variable
        if leaf._node is None:
            return  # frozen in the meantime
        taken = leaf._grad is None
        node.accumulate(g, owned, self.create)
        if taken:
            g = self.unwrap(leaf._grad)
        for hook in list(node.hooks.accumulated.values()):
            if hook(node.variable) is not None:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        for hook in list(node.hooks.post.values()):
            hook((), (self.wrap(g),))

    def deliver(self, pairs: NodePairs, waiting: dict[int, list]) -> NodePairs:
        """Add cotangents to leaves, and finish each leaf after its last one; return the pairs of other parents."""
        assert self.pending is not None
        rest: list[tuple[Node, Cotangent]] = []
        for parent, g in pairs:
            if parent not in self.pending:  # not a wanted leaf
                rest.append((parent, g))
                continue
            held = waiting.pop(parent.seq, [parent, None, False])
            if g is not None:
                held[1] = g if held[1] is None else held[1] + g
            self.pending[parent] -= 1
            if self.pending[parent]:
                waiting[parent.seq] = held
            elif held[1] is not None:
                self.arrive(parent, held[1], False)
        return rest


def reachable(starts: Iterable[Node]) -> list[Node]:
    """Return all nodes reachable from `starts`, oldest first."""
    nodes = set(starts)
    stack = list(nodes)
    while stack:
        for parent in stack.pop().parents:
            if parent is not None and parent not in nodes:
                nodes.add(parent)
                stack.append(parent)
    return sorted(nodes, key=lambda node: -node.seq)


def uses_of_leaves(starts: Iterable[Node], on_path: set[Node] | None) -> dict[Node, int]:
    """Return how many cotangents each reachable leaf will receive."""
    nodes = (node for node in reachable(starts) if on_path is None or node in on_path)
    targets = [*starts, *(p for node in nodes for p in node.parents)]
    return Counter(p for p in targets if p is not None and p.leaf and (on_path is None or p in on_path))


def as_inputs(x: Any) -> tuple:
    """Return one tensor or a sequence of them as a tuple. Raises RuntimeError unless all require grad."""
    targets = as_tuple(x)
    for i, t in enumerate(targets):
        if not isinstance(t, Tensor):
            raise RuntimeError(f"all inputs have to be Tensors, but got {type(t).__name__}")
        if t._node is None:
            failure = RuntimeError("One of the differentiated Tensors does not require grad")
            raise add_advice(failure, f"number {i} was made without requires_grad=True")
    return targets


def cotangent_for(output: Any, given: Any, create: bool, place: int = 0) -> Cotangent:
    """Return the cotangent that backward starts with at an output: `given`, or by default 1 for a single element.

    Raises RuntimeError for several elements without a cotangent, and for a cotangent of another shape.
    """
    shape, dtype = output._data.shape, output._data.dtype
    if given is None:
        if math.prod(shape) != 1:
            failure = RuntimeError("grad can be implicitly created only for scalar outputs")
            raise add_advice(failure, f"this one has shape {list(shape)}: pass a gradient of that shape")
        if dtype.kind == "c":
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {as_dtype(dtype)}")
        raw = np.ones(shape, dtype) if shape else dtype.type(1)
        return Tensor._wrap(raw, None) if create else raw
    if given._data.shape != shape:
        shapes = f"grad_output[{place}] has a shape of {given.shape} and output[{place}] has a shape of {Size(shape)}"
        raise RuntimeError(f"Mismatch in shape: {shapes}.")
    if (given._data.dtype.kind == "c") != (dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
            f"dtype: grad_output[{place}] has a dtype of {given.dtype} and output[{place}] has a dtype of "
            f"{as_dtype(dtype)}."
        )
    return given if create else given._data


def batch_for(output: Any, given: Any, create: bool, place: int = 0) -> Cotangent:
    """Return a batch of cotangents that backward starts with at an output, along an additional leading axis."""
    if given is None or given._data.shape[1:] != output._data.shape:
        shape = None if given is None else list(given.shape)
        raise RuntimeError(
            "If `is_grads_batched=True`, we interpret the first axis of each grad_output as the batch: expected shape "
            f"[N, *{list(output.shape)}], got {shape}"
        )
    return given if create else given._data


def roots_of(
    outputs: tuple, vectors: Any, create: bool, start: Callable = cotangent_for
) -> list[tuple[Node, Cotangent]]:
    """Return the node of each output with its cotangent, which `start` returns. Raises RuntimeError and TypeError."""
    vectors = (None,) * len(outputs) if vectors is None else as_tuple(vectors)
    if len(vectors) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(vectors)} gradients")
    roots = []
    for i, (output, vector) in enumerate(zip(outputs, vectors, strict=True)):
        if not isinstance(output, Tensor):
            raise TypeError(f"only Tensors can be differentiated, but got {type(output).__name__}")
        if output._node is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if vector is not None and not isinstance(vector, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(vector).__name__}")
        roots.append((output._node, start(output, vector, create, i)))
    return roots


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradient of the tensors (times grad_tensors) to the leaves' `.grad`.

    inputs: only these tensors get a gradient; they need not be leaves. Raises RuntimeError if the graph was freed, if
    nothing requires grad, or if one of grad_tensors is missing or has the wrong shape.
    """
    outputs = as_tuple(tensors)
    for observer in observers:
        retain_graph = observer.see_backward("backward", outputs) or retain_graph
    if inputs is not None and len(as_tuple(inputs)) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots, wanted = roots_of(outputs, grad_tensors, create_graph), None
    if inputs is not None:
        targets = as_inputs(inputs)
        for t in targets:
            t.retain_grad()
        wanted = dict.fromkeys(t._node for t in targets)
    Plan(create_graph if retain_graph is None else retain_graph, create_graph, wanted, accumulates=True).run(roots)


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
    """Return the gradients of the outputs (times grad_outputs) with respect to the inputs, as a tuple.

    With is_grads_batched, grad_outputs and results have a leading batch axis. Raises RuntimeError for an input that the
    outputs do not depend on, unless allow_unused (which gives None) or materialize_grads (which gives zeros) is set.
    """
    outputs = as_tuple(outputs)
    targets = as_inputs(inputs)
    if not targets:
        raise ValueError("grad requires non-empty inputs.")
    for observer in observers:
        observer.see_backward("grad", outputs)
    if grad_outputs is not None:
        mapped = next((v for v in as_tuple(grad_outputs) if getattr(v, "record_level", 1) > 1), None)
        if mapped is not None and not is_grads_batched:
            given = (targets, retain_graph, create_graph, only_inputs, allow_unused)
            return mapped.gradients(grad, outputs, as_tuple(grad_outputs), given, materialize_grads)
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got False")
    roots = roots_of(outputs, grad_outputs, create_graph, batch_for if is_grads_batched else cotangent_for)
    plan = Plan(
        create_graph if retain_graph is None else retain_graph, create_graph, dict.fromkeys(t._node for t in targets)
    )
    grads = plan.run(roots)
    for i, t in enumerate(targets):
        if grads[t._node] is None and not (allow_unused or materialize_grads):
            what = f"The differentiated Tensor at index {i} appears to not have been used in the graph."
            raise RuntimeError(f"{what} Set allow_unused=True if this is the desired behavior.")
    found = [as_gradient(grads[t._node], t, create_graph, materialize_grads) for t in targets]
    return tuple([g if g is None else report_event("returned", t, g) for t, g in zip(targets, found, strict=True)])


def as_gradient(g: Cotangent, target: Tensor, create: bool, materialize: bool) -> Tensor | None:
    """Return a cotangent as a Tensor with its own memory and the target's type. None gives None, or zeros if asked."""
    dtype = target._data.dtype
    if g is None:
        zeros = Tensor._wrap(np.zeros(target._data.shape, dtype), None) if materialize else None
        return zeros.requires_grad_() if zeros is not None and create else zeros
    if create:
        return cast(g, dtype)
    return Tensor._wrap(np.array(g, dtype) if g.base is not None or g.dtype != dtype else g, None)


def backward_from(
    self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Add to the leaves' `.grad` the gradient of this tensor times `gradient` (1 for a scalar)."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)
