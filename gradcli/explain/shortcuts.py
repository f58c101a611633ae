"""Find parts of the chain rule that a hand-written gradient leaves out or applies twice.

If our engine can run the function, its graph has the intermediate results that other checks do not see, such as a
hidden layer whose activation's derivative was forgotten. Each hypothesis changes the engine's backward pass at a
node. It must then give the claim, in every element that is wrong, for two combinations of outputs, at the checked point
and at others.
"""

from __future__ import annotations

import functools
import itertools
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..claims.hand_written import HandWritten
from ..claims.recorded import Traced
from ..lang.operations import index_text
from ..numeric.flat import real_view
from ..numeric.rows import draw_signs
from ..program.meaning import is_same_result
from ..results.checks import Finding
from ..rules.index import ArrayIndex
from ..rules.shapes import fit_to_shape
from ..tape.backward import Plan, reachable
from ..tape.modes import methods_of_arrays
from ..tape.record import Mode, recording
from ..user.lines import UsersExpression, running_expression, users_call
from ..user.tracebacks import users_path
from .block import LEFT_OVER, InputBlock
from .constants import nearest_fraction
from .evidence import DiagnosisEvidence, EvidencePlace

MOST_NODES, MOST_NODE_PAIRS, MOST_ANALYSED = 200, 2000, 20_000  # nodes, pairs of nodes, array elements: a choice
BACKWARD_ALIKE = 1e-6  # relative error of a changed backward, in each element: a choice
TINY_PART = 1e-12  # the same for elements that are the rest of a cancellation, relative to the largest element
BACKWARD_COMBINATIONS = 2  # combinations of outputs that a changed backward must explain
COMPOSED = {
    frozenset({"negative", "exp", "add", "divide"}): "sigmoid",
    frozenset({"negative", "exp", "add", "reciprocal"}): "sigmoid",
    frozenset({"exp", "add", "log"}): "softplus",
    frozenset({"exp", "log1p"}): "softplus",
    frozenset({"exp", "sum", "divide"}): "softmax",
    frozenset({"subtract", "exp", "sum", "divide"}): "softmax",
    frozenset({"maximum"}): "relu",
}
SHARES = {0: "is missing", -1: "has the wrong sign", 2: "is counted twice"}
"""Descriptions of how often the claim contains a part of the derivative."""


class Shortcut(NamedTuple):
    """A finding. of_some: whether it is true of the inputs to explain only, although others use the same operation."""

    finding: Finding
    of_some: bool


class Evaluation(NamedTuple):
    """An evaluation of an expression of the user's code. number: of the evaluation, among those of the function."""

    expression: UsersExpression
    number: int


class Evaluations(Mode):
    """Records with each node the evaluation that made it: that of `np.diff(x)` makes three nodes."""

    def __init__(self) -> None:
        self.called, self.count = None, 0

    def make_node(self, primitive: Any, nodes: tuple, out: Any, raws: list, params: dict) -> Any:
        node = self.below.make_node(primitive, nodes, out, raws, params)
        node.origin = None
        if (call := users_call()) is not None:
            frame, called = call
            self.count += called is not self.called
            self.called = called
            node.origin = Evaluation(running_expression(frame), self.count)
        return node


class RecordedRun:
    """The function recorded at a point, and one claimed combination of rows there, shape (n,).

    nodes: the operations and the inputs, the oldest first. arriving: the cotangent of each. right: our engine's
    derivative. parts: the part of it through each node. explained: mask of the elements that a hypothesis has to
    explain; the others belong to inputs that are right, or whose mistake is known.
    """

    def __init__(self, claim: HandWritten, place: EvidencePlace, weights: np.ndarray, explained: np.ndarray):
        at = place.flat.claim.at
        traced = Traced(methods_of_arrays()(claim.f), at, wrt=claim.wrt)
        with recording(Evaluations()):
            record = traced.record_call(traced.at)
        (out,) = record.outputs
        if not is_same_result(np.asarray(out._data), place.flat.out):
            raise ValueError("the function has another value for tensors than for arrays")
        self.inputs, self.names = [(x._node, x._data) for x in record.inputs], claim.wrt
        self.explained = explained
        if place.rows.weights is None:
            self.claimed, cotangent = weights @ place.claimed, weights
        else:
            self.claimed, cotangent = weights @ place.claimed, weights @ place.rows.weights
        nodes = reachable([out._node]) if out._node is not None else []
        self.nodes = [node for node in nodes if shape_of_node(node) is not None]
        seed = np.asarray(cotangent, out._data.dtype).reshape(out._data.shape)
        self.arriving = pulled(out._node, seed, self.nodes) if self.nodes else {}
        self.right = self.join(self.arriving)

    def join(self, grads: Mapping[Any, Any]) -> np.ndarray:
        parts = (np.zeros_like(x) if grads.get(node) is None else np.asarray(grads[node]) for node, x in self.inputs)
        return np.concatenate([real_view(part).astype(float) for part in parts])

    def pull(self, i: int, cotangent: Any) -> np.ndarray:
        return self.join(pulled(self.nodes[i], cotangent, [node for node, _ in self.inputs]))

    @functools.cached_property
    def parts(self) -> list[np.ndarray]:
        return [self.pull(i, self.arriving[node]) for i, node in enumerate(self.nodes)]

    def parents(self) -> list[set[int]]:
        """Return the places of the nodes that each node uses."""
        places = {node: i for i, node in enumerate(self.nodes)}
        return [{places[p] for p in node.parents if p in places} for node in self.nodes]

    def name(self, leaf: Any) -> str:
        """Return the name of an input from its node."""
        return next(name for (node, _), name in zip(self.inputs, self.names, strict=True) if node is leaf)

    def changes_others(self, expected: np.ndarray) -> bool:
        """Report whether a changed backward differs from the derivative in elements that it need not explain."""
        off, size = np.abs(expected - self.right), np.maximum(np.abs(expected), np.abs(self.right))
        return bool((off > BACKWARD_ALIKE * size + TINY_PART * size.max(initial=0.0))[~self.explained].any())

    def depends_through(self, early: int, late: int) -> bool:
        """Report whether the late node depends on the elements to be explained through the early one only."""
        through = self.pull(early, self.passed(late, early))[self.explained]
        whole = self.parts[late][self.explained]
        size = np.abs(whole).max(initial=0.0)
        return bool(np.allclose(through, whole, rtol=BACKWARD_ALIKE, atol=BACKWARD_ALIKE * size))

    def left_out(self, early: int, late: int) -> np.ndarray:
        """Return the derivative as if the late node's derivative with respect to the early one were 1.

        Unless it `depends_through` the early one, its other derivatives are left out, too.
        """
        arriving, shape = self.arriving[self.nodes[late]], shape_of_node(self.nodes[early]) or ()
        unchanged = fit_to_shape(np.asarray(arriving), shape, np.ndim(arriving))
        return self.right - self.parts[late] + self.pull(early, unchanged)

    def applied_twice(self, early: int, late: int) -> np.ndarray:
        return self.right - self.parts[late] + self.pull(late, self.passed(late, early))

    def passed(self, late: int, early: int) -> np.ndarray:
        """Return the part of the early node's cotangent that the late one passes to it."""
        last, node = self.nodes[late], self.nodes[early]
        return np.asarray(pulled(last, self.arriving[last], [node]).get(node, np.zeros(shape_of_node(node) or ())))


def pulled(node: Any, cotangent: Any, wanted: list[Any]) -> Mapping[Any, Any]:
    return Plan(True, False, dict.fromkeys(wanted)).run([(node, cotangent)])


def shape_of_node(node: Any) -> tuple[int, ...] | None:
    return node.data.shape if node.leaf else node.outline[0] if isinstance(node.outline, tuple) else None


def find_shortcut(evidence: DiagnosisEvidence, blocks: list[InputBlock]) -> Finding | None:
    """Return which part of the chain is left out or wrong in these inputs, if our engine can run the function."""
    place = evidence.place
    if place is None or not place.rows.known:
        return None
    flat, claim = place.flat, place.flat.claim
    small = sum(x.size for x in claim.at.values()) + flat.out.size <= MOST_ANALYSED
    real = all(x.dtype.kind == "f" for x in (flat.out, *claim.at.values()))
    if type(claim) is not HandWritten or not (small and real and evidence.places):
        return None
    explained = np.zeros(flat.size, bool)
    for block in blocks:
        explained[flat.columns(block.k)] = True
    rng = np.random.default_rng(0)
    weights = draw_signs(rng, (BACKWARD_COMBINATIONS if len(place.claimed) > 1 else 1, len(place.claimed)))
    try:
        runs = [RecordedRun(claim, at, w, explained) for w in weights for at in (place, *evidence.places)]
        found = next(shortcut_hypotheses(runs), None)
    except Exception:  # the engine lacks an operation of the function, or its code needs plain arrays
        return None
    if found is None or not found.of_some:
        return found and found.finding
    names = [block.name for block in blocks]
    text = f"{', '.join(names)}: {found.finding.text}"
    return found.finding._replace(text=text, input=names[0] if len(names) == 1 else None)


def shortcut_hypotheses(runs: list[RecordedRun]) -> Iterator[Shortcut]:
    names = [node.name() for node in runs[0].nodes]
    if not 0 < len(names) <= MOST_NODES or any([node.name() for node in run.nodes] != names for run in runs):
        return
    parts = [*paths(runs)]
    yield from (shortcut for share, shortcut in parts if share in SHARES)
    yield from chain_faults(runs)
    yield from wrong_axes(runs)
    yield from (shortcut for _, shortcut in parts)


def chain_faults(runs: list[RecordedRun]) -> Iterator[Shortcut]:
    """Yield derivatives of one node by another that are left out or applied twice, those of the nearest nodes first."""
    here, before = runs[0], ancestors(runs[0].parents())
    shapes = [shape_of_node(node) for node in here.nodes]
    pairs = sorted(linked_pairs(here, before), key=lambda pair: (pair[1] - pair[0], pair[1]))[:MOST_NODE_PAIRS]
    same = [(early, late) for early, late in pairs if shapes[early] == shapes[late]]
    for way, several in ((RecordedRun.left_out, pairs), (RecordedRun.applied_twice, same)):
        for early, late in several:
            expected = (way(run, early, late) for run in runs)
            if not all(gives_claim(x, run) for x, run in zip(expected, runs, strict=True)):
                continue
            left_out, leaf = way is RecordedRun.left_out, here.nodes[early].leaf
            if left_out and not all(run.depends_through(early, late) for run in runs):
                continue
            between = [k for k in sorted(before[late]) if early in before[k]]
            by = f" with respect to {here.name(here.nodes[early])}" if leaf else ""
            words = "is left out" if left_out else "is applied twice"
            text = f"in the claim, the derivative of {uses(here, *between, late)}{by} {words}"
            kind = "chain factor" if leaf else "activation derivative"
            yield Shortcut(Finding(kind, text), here.changes_others(way(here, early, late)))


def ancestors(parents: list[set[int]]) -> list[set[int]]:
    """Return the places of the nodes that each node depends on."""
    found: list[set[int]] = []
    for places in parents:
        found.append(places.union(*(found[i] for i in places)))
    return found


def linked_pairs(run: RecordedRun, before: list[set[int]]) -> Iterator[tuple[int, int]]:
    """Yield operations of the same shape that depend on each other, and elementwise operations with an input."""
    shapes, parents = [shape_of_node(node) for node in run.nodes], run.parents()
    for late in range(len(shapes)):
        for early in before[late]:
            same = shapes[early] == shapes[late]
            if run.nodes[early].leaf:
                same = early in parents[late] and (same or is_broadcast(run.nodes[late]))
            if same:
                yield early, late


def is_broadcast(node: Any) -> bool:
    """Report whether an operation is elementwise, with operands that it may have to broadcast."""
    return node.rule.broadcast is not None


def paths(runs: list[RecordedRun]) -> Iterator[tuple[Any, Shortcut]]:
    """Yield how often the claim contains the part through a node: the latest node first that has only wrong inputs.

    Nodes that are only a part of an evaluation follow. For a node with other inputs, too, this is said of the wrong
    inputs only, and of the node nearest to them.
    """
    here = runs[0]
    of_some: list[tuple[Any, Shortcut]] = []
    of_parts: list[tuple[Any, Shortcut]] = []
    for i, node in reversed(list(enumerate(here.nodes))):
        if node.leaf:
            continue
        share = claimed_share(here.parts[i], here)
        if share is not None and share != 0 and repeats_of(here, i) > 1:
            continue  # one of several uses of an operation may be left out, but a factor would be that of all
        if share is not None and all(gives_claim(run.right + float(share - 1) * run.parts[i], run) for run in runs):
            words = SHARES.get(share, f"is {share} times as large as it should be")
            finding = Finding("missing path", f"the derivative through {uses(here, i)} {words}")
            found = share, Shortcut(finding, here.changes_others(here.right + here.parts[i]))
            if found[1].of_some:
                of_some.insert(0, found)
            elif is_part(here, i):
                of_parts.append(found)
            else:
                yield found
    yield from of_parts
    yield from of_some


def claimed_share(part: np.ndarray, run: RecordedRun) -> Any:
    """Return how often the claim contains a part of the derivative, if that is a simple fraction and not 1."""
    part = np.where(run.explained, part, 0.0)
    size = float(part @ part)
    share = 1 + float((run.claimed - run.right) @ part) / size if size else np.nan
    if not abs(share) < 1e6:
        return None
    simple = nearest_fraction(share, 64)
    return simple if abs(share - simple) < 1e-6 and simple != 1 else None


def wrong_axes(runs: list[RecordedRun]) -> Iterator[Shortcut]:
    """Yield a sum over the wrong axis: the gradient of a broadcast input, before it is summed, over another axis."""
    here = runs[0]
    for i, node in reversed(list(enumerate(here.nodes))):
        shape = shape_of_node(node) or ()
        for k, columns in enumerate(input_columns(here)):
            leaf, x = here.inputs[k]
            added = len(shape) - x.ndim
            if leaf not in node.parents or not here.explained[columns].any() or added < 1 or not is_broadcast(node):
                continue
            for axes in itertools.islice(itertools.combinations(range(len(shape)), added), 1, None):
                if tuple(n for axis, n in enumerate(shape) if axis not in axes) != x.shape:
                    continue
                if all(gives_claim(summed_over(run, i, k, axes), run) for run in runs):
                    which = ", ".join(map(str, axes))
                    text = f"a sum runs over the wrong axis ({which}): sum the gradient of {uses(here, i)}"
                    text = f"{text} over the axes that are broadcast"
                    yield Shortcut(Finding("wrong axis", text), False)


def input_columns(run: RecordedRun) -> list[slice]:
    edges = np.cumsum([0, *(x.size for _, x in run.inputs)]).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def summed_over(run: RecordedRun, i: int, k: int, axes: tuple[int, ...]) -> np.ndarray:
    """Return the derivative if node i sums the gradient of input k over these axes instead of the broadcast ones."""
    node, (leaf, x) = run.nodes[i], run.inputs[k]
    arriving, places = np.asarray(run.arriving[node]), np.arange(x.size).reshape(x.shape)
    kept = np.broadcast_to(np.expand_dims(places, axes), arriving.shape)
    parts = [pulled(node, np.where(kept == place, arriving, 0.0), [leaf])[leaf] for place in range(x.size)]
    changed, columns = run.right.copy(), input_columns(run)[k]
    changed[columns] += [np.sum(part) for part in parts] - np.sum(parts, axis=0).reshape(-1)
    return changed


def gives_claim(expected: np.ndarray, run: RecordedRun) -> bool:
    """Report whether a changed backward gives the claim, in each element that it has to explain."""
    if not np.isfinite(run.claimed).all():
        return False
    off, gap = np.abs(expected - run.claimed), np.abs(run.right - run.claimed)
    size = np.maximum(np.abs(run.claimed), np.abs(run.right))
    rest = TINY_PART * size.max(initial=0.0)
    wrong = (gap > 10 * BACKWARD_ALIKE * size + rest) & run.explained
    tolerance = np.where(wrong, np.minimum(BACKWARD_ALIKE * size + rest, LEFT_OVER * gap), BACKWARD_ALIKE * size + rest)
    return bool(wrong.any() and (off <= tolerance)[run.explained].all())


def operations(run: RecordedRun, *places: int) -> str:
    names = [operation_name(run, i) for i in places]
    known = COMPOSED.get(frozenset(names))
    return f"{known} ({', '.join(names)})" if known else ", ".join(dict.fromkeys(names))


def operation_name(run: RecordedRun, i: int) -> str:
    """Return the name of a node's operation, or which elements it takes: a line may take several, as x[0] and x[1]."""
    node = run.nodes[i]
    name = getattr(node.rule.primitive, "name", None) or node.name()
    if not isinstance(index := node.rule.params.get("index"), ArrayIndex):
        return name
    sources = [input_name for (leaf, _), input_name in zip(run.inputs, run.names, strict=True) if leaf in node.parents]
    return f"{sources[0] if sources else name}[{index_text(index)}]"


def uses(run: RecordedRun, *places: int) -> str:
    """Name operations by the expressions of the user's code that contain them: `np.exp(x)` (a.py:3)."""
    several, part = repeats_of(run, places[-1]), is_part(run, places[-1])
    made = [origin for i in places[::-1] if (origin := run.nodes[i].origin) is not None]
    found = dict.fromkeys(origin.expression for origin in made)
    outer = [x for x in found if not any(x.file == y.file and x.text in y.text for y in found if x is not y)]
    listed = [
        f"`{textwrap.shorten(x.text, 60, placeholder=' ...')}` ({users_path(x.file)}:{x.line})" for x in sorted(outer)
    ]
    words = " and ".join(listed)
    if len(places) > 1 or not words:
        words = f"{operations(run, *places)}{' in ' * bool(words)}{words}"
    elif part:
        words = f"a part of {words}"
    return f"{f'one of {several} uses of ' if several > 1 else ''}{words}"


def repeats_of(run: RecordedRun, i: int) -> int:
    """Return how often the function evaluates the expression of a node, as in a loop."""
    origin = run.nodes[i].origin
    made = (node.origin for node in run.nodes if origin is not None and node.origin is not None)
    return len({other.number for other in made if other.expression == origin.expression})


def is_part(run: RecordedRun, i: int) -> bool:
    """Report whether the evaluation that made a node has made others with it: an operation of a library's function."""
    origin = run.nodes[i].origin
    return origin is not None and any(
        node.origin is not None and node.origin.number == origin.number for node in run.nodes[i + 1 :]
    )
