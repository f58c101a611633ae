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
from typing import Any

import numpy as np

from ..claims.hand_written import HandWritten
from ..claims.recorded import Traced
from ..errors import lines_of_file
from ..lang.operations import index_text
from ..numeric.flat import real_view
from ..numeric.rows import draw_signs
from ..results.checks import Finding
from ..rules.index import ArrayIndex
from ..tape.backward import Plan, reachable
from ..tape.record import Mode, recording
from ..user.lines import users_chain
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


class Lines(Mode):
    """Records with each node the user's lines that made it."""

    def make_node(self, primitive: Any, nodes: tuple, out: Any, raws: list, params: dict) -> Any:
        node = self.below.make_node(primitive, nodes, out, raws, params)
        node.origin = users_chain()
        return node


class RecordedRun:
    """The function recorded at a point, and one claimed combination of rows there, shape (n,).

    arriving: the cotangent of each node. right: our engine's derivative. parts: the part of it through each node.
    explained: mask of the elements that a hypothesis has to explain; the others belong to other inputs.
    """

    def __init__(self, claim: HandWritten, place: EvidencePlace, weights: np.ndarray, explained: np.ndarray):
        at = place.flat.claim.at
        traced = Traced(claim.f, at, wrt=claim.wrt)
        with recording(Lines()):
            record = traced.record_call(traced.at)
        (out,) = record.outputs
        self.inputs, self.names = [(x._node, x._data) for x in record.inputs], claim.wrt
        self.explained = explained
        if place.rows.weights is None:
            self.claimed, cotangent = weights @ place.claimed, weights
        else:
            self.claimed, cotangent = weights @ place.claimed, weights @ place.rows.weights
        nodes = reachable([out._node]) if out._node is not None else []
        self.nodes = [node for node in nodes if not node.leaf and shape_of_node(node) is not None]
        seed = np.asarray(cotangent, out._data.dtype).reshape(out._data.shape)
        wanted = [*self.nodes, *(node for node, _ in self.inputs)]
        self.arriving = pulled(out._node, seed, wanted) if self.nodes else {}
        self.right = self.join(self.arriving)

    def join(self, grads: Mapping[Any, Any]) -> np.ndarray:
        parts = (np.zeros_like(x) if grads.get(node) is None else np.asarray(grads[node]) for node, x in self.inputs)
        return np.concatenate([real_view(part).astype(float) for part in parts])

    def pull(self, i: int, cotangent: Any) -> np.ndarray:
        return self.join(pulled(self.nodes[i], cotangent, [node for node, _ in self.inputs]))

    @functools.cached_property
    def parts(self) -> list[np.ndarray]:
        return [self.pull(i, self.arriving[node]) for i, node in enumerate(self.nodes)]

    def ancestors(self) -> list[set[int]]:
        """Return the places of the nodes that each node depends on."""
        places = {node: i for i, node in enumerate(self.nodes)}
        found: list[set[int]] = []
        for node in self.nodes:
            parents = {places[p] for p in node.parents if p in places}
            found.append(parents.union(*(found[i] for i in parents)))
        return found

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
        return self.right - self.parts[late] + self.pull(early, self.arriving[self.nodes[late]])

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
        return next(shortcut_hypotheses(runs), None)
    except Exception:  # the engine lacks an operation of the function, or its code needs plain arrays
        return None


def shortcut_hypotheses(runs: list[RecordedRun]) -> Iterator[Finding]:
    here = runs[0]
    names = [node.name() for node in here.nodes]
    if not 0 < len(names) <= MOST_NODES or any([node.name() for node in run.nodes] != names for run in runs):
        return
    parts = [*paths(runs)]
    yield from (finding for share, finding in parts if share in SHARES)
    before, shapes = here.ancestors(), [shape_of_node(node) for node in here.nodes]
    pairs = [(early, late) for late in range(len(names)) for early in before[late] if shapes[early] == shapes[late]]
    pairs = sorted(pairs, key=lambda pair: (pair[1] - pair[0], pair[1]))[:MOST_NODE_PAIRS]
    for way, words in ((RecordedRun.left_out, "{} is left out"), (RecordedRun.applied_twice, "{} is applied twice")):
        for early, late in pairs:
            if all(gives_claim(way(run, early, late), run) for run in runs):
                if way is RecordedRun.left_out and not all(run.depends_through(early, late) for run in runs):
                    continue
                between = [k for k in sorted(before[late]) if early in before[k]]
                of = operations(here, *between, late)
                what = f"in the claim, the derivative of {words.format(of + place_of_node(here, late))}"
                yield Finding("activation derivative", what)
    yield from wrong_axes(runs)
    yield from (finding for _, finding in parts)


def paths(runs: list[RecordedRun]) -> Iterator[tuple[Any, Finding]]:
    """Yield how often the claim contains the part through a node, the latest node first."""
    here = runs[0]
    for i in reversed(range(len(here.nodes))):
        share = claimed_share(here.parts[i], here)
        if share is not None and share != 0 and repeats_of(here, i) > 1:
            continue  # one of several uses of an operation may be left out, but a factor would be that of all
        if share is not None and all(gives_claim(run.right + float(share - 1) * run.parts[i], run) for run in runs):
            words = SHARES.get(share, f"is {share} times as large as it should be")
            through = operations(here, i) + place_of_node(here, i)
            yield share, Finding("missing path", f"the part of the derivative that goes through {through} {words}")


def claimed_share(part: np.ndarray, run: RecordedRun) -> Any:
    """Return how often the claim contains a part of the derivative, if that is a simple fraction and not 1."""
    part = np.where(run.explained, part, 0.0)
    size = float(part @ part)
    share = 1 + float((run.claimed - run.right) @ part) / size if size else np.nan
    if not abs(share) < 1e6:
        return None
    simple = nearest_fraction(share, 64)
    return simple if abs(share - simple) < 1e-6 and simple != 1 else None


def wrong_axes(runs: list[RecordedRun]) -> Iterator[Finding]:
    """Yield a sum over the wrong axis: the gradient of a broadcast input, summed over another axis of what arrives."""
    here = runs[0]
    for i, node in reversed(list(enumerate(here.nodes))):
        shape = shape_of_node(node) or ()
        for (leaf, x), columns in zip(here.inputs, input_columns(here), strict=True):
            if leaf not in node.parents or not here.explained[columns].any() or x.ndim >= len(shape):
                continue
            for axes in itertools.combinations(range(len(shape)), len(shape) - x.ndim):
                if tuple(n for k, n in enumerate(shape) if k not in axes) != x.shape:
                    continue
                if all(gives_claim(summed_over(run, i, columns, axes), run) for run in runs):
                    which = ", ".join(map(str, axes))
                    text = f"a sum runs over the wrong axis ({which}): sum the gradient of {operations(here, i)}"
                    yield Finding("wrong axis", f"{text}{place_of_node(here, i)} over the axes that are broadcast")


def input_columns(run: RecordedRun) -> list[slice]:
    edges = np.cumsum([0, *(x.size for _, x in run.inputs)]).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def summed_over(run: RecordedRun, i: int, columns: slice, axes: tuple[int, ...]) -> np.ndarray:
    """Return the derivative with that of one input replaced by the sum of the arriving cotangent over some axes."""
    changed = run.right.copy()
    changed[columns] = np.asarray(run.arriving[run.nodes[i]]).sum(axis=axes).reshape(-1)
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


def place_of_node(run: RecordedRun, i: int) -> str:
    chain = run.nodes[i].origin
    if not chain:
        return ""
    (file, line), _ = chain[0]
    code = textwrap.shorten("".join(lines_of_file(file)[line - 1 : line]).strip(), 60, placeholder=" ...")
    count = repeats_of(run, i)
    use = f", in one of its {count} uses" if count > 1 else ""
    return f"{use} in the line `{code}` ({users_path(file)}:{line})"


def repeats_of(run: RecordedRun, i: int) -> int:
    """Return how often a line of the function uses the operation of a node, as in a loop."""
    node = run.nodes[i]
    alike = (n for k, n in enumerate(run.nodes) if operation_name(run, k) == operation_name(run, i))
    return sum(n.origin[:1] == node.origin[:1] for n in alike)
