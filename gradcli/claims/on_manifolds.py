"""A claim whose inputs or output lie on manifolds, as a claim of a function of plain arrays.

Each input on a manifold is replaced by the coordinates of a move away from its point. They begin at the size of the
point instead of at 0, because checks move inputs relative to their size. The function is called at the point that the
move leads to. A derivative claimed there is turned into one by the coordinates. An output on a manifold is replaced by
the move that leads to it from the output at the point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import GradcliError, refuse_unknown
from ..manifolds.custom import Custom
from ..manifolds.groups import Group
from ..manifolds.manifold import Manifold
from .claim import (
    Arrays,
    CallBudget,
    CallError,
    Capabilities,
    Claim,
    Difference,
    Progress,
    WrongShapeError,
    plain_array,
)
from .hand_written import HandWritten

NEAR_IDENTITY = 1e-8  # at smaller angles, Jacobians leave out a term, as in `if a < 1e-8: return identity`: a choice
OUT = "out"  # the name of the output in --on, unless an input has it


def on_manifolds(claim: Claim, manifolds: Mapping[str, Manifold]) -> OnManifolds:
    """Return a claim on manifolds. Raises GradcliError if a point is not on its manifold."""
    known = [*claim.at, *([] if OUT in claim.at else [OUT])]
    refuse_unknown(manifolds, known, "on: the function has no input", "the inputs are")
    chosen = {}
    for name, manifold in manifolds.items():
        if name in claim.at:
            x = claim.at[name]
            claim.at[name] = x = x.astype(float) if x.dtype.kind in "biu" else x
            if x.dtype.kind == "c":
                raise CallError(f"'{name}' is complex; manifolds take real numbers")
            if isinstance(manifold, Custom) and manifold.dimension is None:
                manifold = manifold.with_dimension(dimension_claimed(claim, name))
            manifold.refuse(manifold.formed(x), name)
        chosen[name] = manifold
    return OnManifolds(claim, chosen)


def dimension_claimed(claim: Claim, name: str) -> int:
    """Return the number of coordinates of a user's manifold, from the width of the claim. Raises CallError."""
    out = claim.value_here()
    if isinstance(claim, HandWritten) and claim.jvp_fn is None:
        cotangent = np.zeros_like(out) if claim.vjp_fn is not None else None
        function = claim.vjp_fn or claim.grad
        if function is not None:
            parts = claim.parts_of(claim.call(function, claim.at, claim.title, cotangent=cotangent), claim.title)
            size = plain_array(parts[name], f"the derivative for '{name}'").size
            return size if cotangent is not None else size // max(out.size, 1)
    raise CallError(f"the retraction of '{name}' needs its number of coordinates", "add it: --on x=FILE.py:retract:3")


class OnManifolds(Claim):
    """inner: the claim by the points themselves. manifolds: by input; output: that of the output, or None.

    base: the output at the point, if that is on a manifold. begin: where the coordinates of each input begin.
    """

    on_manifolds = True
    spread = 3e-9  # (1 - cos a) / a^2, a coefficient of most Jacobians, is off by 1e-16 / a^2 near the identity

    def __init__(self, inner: Claim, manifolds: Mapping[str, Manifold]):
        self.inner = inner
        self.added_notes: tuple[str, ...] = ()
        self.manifolds = {name: m for name, m in manifolds.items() if name in inner.at and name in inner.wrt}
        self.output_manifold = None if OUT in inner.at else manifolds.get(OUT)
        inner.check_wrt()
        at, self.begin = dict(inner.at), {}
        for name, manifold in self.manifolds.items():
            x = self.point(name)
            at[name] = self.begin[name] = manifold.sizes(x).astype(x.dtype)
        self.base: np.ndarray | None = None
        self.base_size: Any = 0.0
        if self.output_manifold is not None:
            self.base = self.output_manifold.formed(inner.value_here())
            self.output_manifold.refuse(self.base, OUT)
            if isinstance(self.output_manifold, Group):
                self.base_size = self.output_manifold.sizes(self.base)
        if inner.by_tangent:
            inner.tangents = {name: x.shape for name, x in self.begin.items()}
            if self.base is not None:
                assert self.output_manifold is not None
                inner.out_tangent = self.output_manifold.tangent_shape(self.base)
        super().__init__(inner.title, at, inner.wrt)
        self.start = self.at  # at the points themselves: another claim that `moved` returns is not
        self.functions, self.constants, self.jitter = inner.functions, inner.constants, inner.jitter
        self.doubt = inner.doubt
        every = isinstance(self.output_manifold, Group)
        self.left_out = {n: NEAR_IDENTITY for n in self.wrt if every or isinstance(self.manifolds.get(n), Group)}
        self.layout = inner.layout if self.base is None else ()

    # What a check sets or reads belongs to the inner claim.

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        return self.inner.capabilities

    @capabilities.setter
    def capabilities(self, value: Capabilities) -> None:
        self.inner.capabilities = value

    @property
    def claims(self) -> str:  # type: ignore[override]
        return self.inner.claims

    @claims.setter
    def claims(self, value: str) -> None:
        self.inner.claims = value

    @property
    def budget(self) -> CallBudget:  # type: ignore[override]
        return self.inner.budget

    @budget.setter
    def budget(self, value: CallBudget) -> None:
        """Keep the inner claim's budget: `Claim` makes a new one for itself."""

    @property
    def progress(self) -> Progress:  # type: ignore[override]
        return self.inner.progress

    @progress.setter
    def progress(self, value: Progress) -> None:
        self.inner.progress = value

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*self.inner.notes, *self.added_notes)

    @notes.setter
    def notes(self, value: tuple[str, ...]) -> None:
        self.added_notes = tuple(note for note in value if note not in self.inner.notes)

    @property
    def connection(self) -> Any:  # type: ignore[override]
        return self.inner.connection

    @property
    def inputs(self) -> Arrays:
        return self.inner.inputs

    def point(self, name: str) -> np.ndarray:
        """Return the point of an input on a manifold, or of the output (""). Programs may take entries as a vector."""
        if not name:
            assert self.base is not None
            return self.base
        return self.manifolds[name].formed(self.inner.at[name])

    def move(self, name: str, arrays: Arrays) -> np.ndarray:
        """Return the move of an input, 0 at its point."""
        return arrays[name] - self.begin[name].astype(arrays[name].dtype)

    def points(self, arrays: Arrays) -> Arrays:
        """Return the inner claim's inputs; its own `at` at the point, so that f is not called there again."""
        if arrays is self.start:
            return self.inner.at
        found = dict(arrays)
        for name, manifold in self.manifolds.items():
            d, x = self.move(name, arrays), self.point(name).astype(arrays[name].dtype)
            try:
                found[name] = (manifold.retract(x, d) if d.any() else x).reshape(self.inner.at[name].shape)
            except GradcliError as error:  # a retraction of the user may be undefined far from its point
                raise CallError(error.message, error.hint) from error
        return found

    def measured(self, y: Any) -> Any:
        """Return the move that leads from the output at the point to y, or y if the output is on no manifold."""
        if self.output_manifold is None or self.base is None:
            return y
        y = self.output_manifold.formed(plain_array(y, self.title))
        if y.shape != self.base.shape:
            raise CallError(f"{self.title} returns shape {self.base.shape} at the point and {y.shape} nearby")
        return self.output_manifold.local(self.base.astype(y.dtype), y) + self.base_size

    def evaluate(self, arrays: Arrays) -> Any:
        return self.measured(self.inner.value(self.points(arrays)))

    def evaluate_wider(self, arrays: Arrays) -> Any:
        out = self.inner.evaluate_wider(self.points(arrays))
        return None if out is None else self.measured(out)

    def by_moves(self, name: str, arrays: Arrays, there: Arrays, rows: Any, count: int) -> np.ndarray:
        """Return claimed derivatives (count, ...) of an input at a moved point as derivatives by the coordinates."""
        raw, x, d = plain_array(rows, f"the derivative for '{name}'"), self.point(name), self.move(name, arrays)
        manifold, shape = self.manifolds[name], self.begin[name].shape
        whole = raw.reshape((count, -1))
        if whole.shape[1] == d.size and (self.inner.by_tangent or x.size != d.size):
            raw = whole.reshape((count, *shape))
        elif whole.shape[1] == x.size:
            raw = manifold.by_entries(manifold.formed(there[name]), whole.reshape((count, *x.shape)))
        else:
            wanted = f"it must be with respect to the tangent, {shape}, or to the entries, {x.shape}"
            raise WrongShapeError(f"the derivative for '{name}' has {whole.shape[1]} columns; {wanted}")
        return manifold.pull(x, d, raw) if d.any() else raw

    def out_differential(self, there: Arrays) -> np.ndarray | None:
        """Return the matrix from moves of the output (or changes of its entries) to what `measured` returns.

        None for an output on no manifold, and for one whose entries are compared.
        """
        manifold, base = self.output_manifold, self.base
        if not isinstance(manifold, Group) or base is None:
            return None
        y = manifold.formed(self.inner.output(there))
        n = manifold.dimension
        blocks = manifold.local_differential(manifold.local(base, y)).reshape((-1, n, n))
        whole = np.zeros((len(blocks) * n,) * 2)
        for k, block in enumerate(blocks):
            part = slice(k * n, (k + 1) * n)
            whole[part, part] = block
        if self.inner.by_tangent:
            return whole
        changes = [
            manifold.entries(y, unit.reshape(manifold.tangent_shape(y))).reshape(-1) for unit in np.eye(len(whole))
        ]
        return whole @ np.linalg.pinv(np.array(changes).T)

    def whole(self, arrays: Arrays) -> dict[str, np.ndarray] | None:
        there = self.points(arrays)
        blocks = self.inner.whole(there)
        if blocks is None:
            return None
        turn, found = self.out_differential(there), {}
        for name in self.wrt:
            raw = np.asarray(blocks[name])
            count = raw.size // max((self if self.inner.by_tangent else self.inner).at[name].size, 1)
            rows = self.by_moves(name, arrays, there, raw, count) if name in self.manifolds else raw
            rows = rows.reshape((len(rows) if name in self.manifolds else count, -1)) if raw.size else raw
            found[name] = rows if turn is None else turn @ rows
        return {name: self.shaped(rows, name) for name, rows in found.items()}

    def shaped(self, rows: np.ndarray, name: str) -> np.ndarray:
        """Return rows in the shape of the output (or of its moves) followed by that of the input."""
        shape = self.value_here().shape
        size = int(np.prod(shape)) * self.at[name].size
        return rows.reshape((*shape, *self.at[name].shape)) if rows.size == size else rows

    def vjps(self, arrays: Arrays, cotangents: Sequence[np.ndarray]) -> list[dict[str, Any]]:
        there = self.points(arrays)
        turn = self.out_differential(there)
        if turn is not None:
            assert self.base is not None
            shape = self.inner.value_here().shape if self.inner.out_tangent is None else self.inner.out_tangent
            cotangents = [(u.reshape(-1) @ turn).reshape(shape).astype(u.dtype) for u in cotangents]
        found = []
        for row in self.inner.vjps(there, cotangents):
            moved = {name: self.by_moves(name, arrays, there, row[name], 1)[0] for name in self.manifolds}
            found.append({**row, **moved})
        return found

    def jvp(self, arrays: Arrays, tangents: Arrays) -> Any:
        there, moves = self.points(arrays), dict(tangents)
        for name, manifold in self.manifolds.items():
            if name in tangents:
                d, change = self.move(name, arrays), tangents[name]
                change = manifold.push(self.point(name), d, change) if d.any() else change
                if not self.inner.by_tangent:
                    entries = manifold.entries(manifold.formed(there[name]), change)
                    change = entries.reshape(self.inner.at[name].shape)
                moves[name] = change
        product = self.inner.jvp(there, moves)
        turn = self.out_differential(there)
        if turn is None:
            return product
        raw = plain_array(product, "the derivative along a direction")
        return (turn @ raw.reshape(-1)).reshape(self.value_here().shape)

    def as_called(self) -> Iterator[Difference]:
        yield from self.inner.as_called()

    def parts(self) -> Iterator[tuple[Claim, Callable[[], str]]]:
        yield from self.inner.parts()

    def based_at(self, arrays: Arrays) -> OnManifolds:
        """Return the claim at the point that moves lead to, with its tangents there."""
        inner = self.inner.moved(self.points(arrays))
        manifolds = {**self.manifolds, **({} if self.output_manifold is None else {OUT: self.output_manifold})}
        return OnManifolds(inner, manifolds)

    def pull_function(self, cotangent: np.ndarray) -> Claim:
        raise GradcliError("second derivatives are not defined on manifolds")
