"""All edits of a function's source, in the order in which they are tried."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from ..user.source import Edit, FunctionSource, apply_edits, walk_code
from .calls import structure
from .edits import Change, Editor, fitted, operator_edits
from .factors import multiplied, multiplied_by_functions, reshaped, scaled_edits, wrapped_edits
from .scope import LIBRARY_NAMES, EditScope
from .statements import Edited, assignments, replacements
from .terms import added, product_rule, projected_edits

SUGGESTED = {
    "sign": {"sign", "order"},
    "factor": {"constant", "length", "times", "axis"},
    "missing 1/N": {"length", "axis", "function"},
    "transposed": {"transpose", "order", "axis"},
    "symmetric part": {"term", "transpose"},
    "wrong axis": {"axis"},
    "rolled": {"index", "constant", "sign"},
    "reversed": {"reverse"},
    "permuted": {"index", "order", "reverse"},
    "cumulative sum": {"cumulative", "reverse"},
    "mask": {"mask"},
    "chain factor": {"times", "power", "function", "name"},
    "activation derivative": {"times", "power", "function", "name"},
    "dropped term": {"term", "constant", "sign", "projection"},
    "missing path": {"projection", "term"},
    "swapped inputs": {"order"},
    "wrong input": {"order", "name"},
    "wrong argument": {"reverse", "order", "name"},
    "conjugate": {"function"},
    "zero": {"name", "times"},
}
"""Kinds of findings, and the kinds of edits that they suggest."""
UNSUGGESTED = 3  # likely edits of other kinds come after likely suggested ones, and before rare ones: a choice
SHALLOW = 3  # expressions nested deeper than this get the likely edits only: a choice
EVERYWHERE = (operator_edits, structure)
OF_ARRAYS = (scaled_edits, reshaped, multiplied)
OF_SHALLOW = (multiplied_by_functions, added, product_rule, projected_edits, wrapped_edits)
WITHOUT_FACTORS = ast.Constant | ast.Tuple | ast.List | ast.Compare


class Candidate(NamedTuple):
    """An edited function. edits: of the text of its file; rank: the order in which it is tried.

    together: 2 for two edits of different kinds, 1 for an edit that may change several places.
    """

    source: FunctionSource
    edits: tuple[Edit, ...]
    kind: str
    rank: tuple[int, int]
    together: int = 1

    @property
    def length(self) -> int:
        """How much longer the text becomes."""
        return sum(len(edit.text) - (edit.end - edit.start) for edit in self.edits)

    @property
    def preference(self) -> tuple:
        """The order in which equal edits are preferred: short ones, then late ones, which leave names as they are."""
        return (self.length, len(self.edits), self.changed, -self.edits[0].start, self.rank)

    @property
    def changed(self) -> int:
        """How many characters change, without what old and new text have in common at both ends."""
        return sum(count_changed(self.source.text[edit.start : edit.end], edit.text) for edit in self.edits)


def count_changed(old: str, new: str) -> int:
    """Return how many characters two texts do not share at their ends."""
    shortest = min(len(old), len(new))
    head = next((k for k in range(shortest) if old[k] != new[k]), shortest)
    tail = next((k for k in range(shortest - head) if old[-1 - k] != new[-1 - k]), shortest - head)
    return len(old) + len(new) - 2 * (head + tail)


def candidates(source: FunctionSource, scope: EditScope, findings: Collection[str]) -> list[Candidate]:
    """Return the edits of a function in the order in which they are tried; each text occurs once.

    findings: kinds of findings of the check. Edits that they suggest come first, then likely and large ones.
    """
    suggested = set().union(*(SUGGESTED.get(kind, set()) for kind in findings))
    start, end = source.definition
    found: dict[str, Candidate] = {}
    for edits, change, size in every_edit(source, scope):
        late = 2 * change.tier + UNSUGGESTED * (change.kind not in suggested)
        candidate = Candidate(source, edits, change.kind, (late, -size))
        text = apply_edits(source.text[:end], edits)[start:]
        if text not in found or candidate.rank < found[text].rank:
            found[text] = candidate
    return sorted(found.values(), key=lambda candidate: candidate.rank)


def every_edit(source: FunctionSource, scope: EditScope) -> Iterator[Edited]:
    """Yield the edits of a function, statement by statement."""
    editor = Editor(scope, source.segment)
    for statement in source.node.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):  # the docstring
            continue
        for node, parent, depth in expressions_in(statement):
            start, end = source.span(node)
            enclosed = is_enclosed(source.text, start, end)
            for change in expression_edits(editor, node, depth):
                text = change.text if enclosed else fitted(change.text, parent, node)
                if text != source.text[start:end]:
                    yield Edited((Edit(start, end, text),), change, end - start)
        for inner in (n for n in ast.walk(statement) if isinstance(n, ast.stmt)):
            yield from assignments(source, scope, inner)
        yield from replacements(source, scope, statement)


def expression_edits(editor: Editor, node: Any, depth: int) -> Iterator[Change]:
    """Yield new texts for an expression. depth: how deep it lies in its statement."""
    kinds: tuple[Callable[[Editor, Any], Iterator[Change]], ...] = EVERYWHERE
    if not isinstance(node, WITHOUT_FACTORS):
        kinds += OF_ARRAYS if depth > SHALLOW else OF_ARRAYS + OF_SHALLOW
    for kind in kinds:
        yield from kind(editor, node)


def is_enclosed(text: str, start: int, end: int) -> bool:
    """Report whether a piece of code is in parentheses of its own."""
    before, after = text[:start].rstrip(), text[end:].lstrip()
    opens = before.endswith("(") and not re.search(r"[\w)\]]$", before[:-1])
    return opens and after.startswith(")")


def expressions_in(statement: ast.stmt) -> Iterator[tuple[Any, Any, int]]:
    """Yield the expressions that a statement evaluates, each with its parent and how deep it lies."""
    parents: dict[int, Any] = {}
    depths = {id(statement): 0}
    for node in walk_code(statement):
        for child in ast.iter_child_nodes(node):
            parents[id(child)] = node
            depths[id(child)] = depths.get(id(node), 0) + isinstance(node, ast.expr) - isinstance(node, ast.Tuple)
        parent = parents.get(id(node))
        is_place = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
        is_module = (
            isinstance(node, ast.Name) and isinstance(parent, ast.Attribute) and node.id in (*LIBRARY_NAMES, "F")
        )
        is_called = isinstance(parent, ast.Call) and parent.func is node and not isinstance(node, ast.Attribute)
        if isinstance(node, ast.expr) and not (is_place or is_module or is_called or is_context(node)):
            yield node, parent, depths.get(id(node), 0)


def is_context(node: Any) -> bool:
    """Report whether an expression is the context of a custom function, or what it has saved."""
    return any(isinstance(n, ast.Name) and n.id in ("ctx", "self") for n in ast.walk(node))
