"""A function of named arrays and its claimed derivative as one between real vectors: rows and columns from here on."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..program.arguments import OutputPart, Path, element_at
from ..program.claim import Arrays, CallError, Claim, WrongShapeError
from ..program.detect_framework import reachable_from
from ..show.check_results import Element

MOST_BYTES = 1 << 28  # how much memory the points of one batch may take


def real_view(x: np.ndarray) -> np.ndarray:
    """Return an array as a vector of real numbers: for complex elements real part, imaginary part."""
    flat = np.ascontiguousarray(x).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


class Flat:
    """The real vector x of the inputs to differentiate, and f as a function of it.

    f0: f at x as a real vector of length m. seconds: the least that a call took so far. unit: the rounding unit of
    f's values. scales: the size of each element of x, for zeros that of their neighbours.
    """

    def __init__(self, claim: Claim):
        claim.check_wrt()
        self.claim = claim
        self.arrays = [claim.at[name] for name in claim.wrt]
        self.parts = [real_view(x) for x in self.arrays]
        self.edges = np.cumsum([0, *(len(p) for p in self.parts)])
        self.size = int(self.edges[-1])
        out = claim.value_here()
        self.out, self.out_shape, self.out_dtype = out, out.shape, out.dtype
        self.f0 = real_view(out).astype(float)
        if out.dtype.kind not in "fc":
            raise CallError(f"the output has type {out.dtype}, which has no derivative")
        self.unit = max(float(np.finfo(out.dtype).eps) / 2, claim.capabilities.value_unit)
        self.scales = np.concatenate([scales_of(p) for p in self.parts]) if self.size else np.zeros(0)
        self.calls = 1
        self.second: np.ndarray | None = None
        self.seconds = 0.0

    def value_again(self) -> np.ndarray:
        if self.second is None:
            self.second = self.call_again()
        return self.second

    def call_again(self) -> np.ndarray:
        start = time.perf_counter()
        value = real_view(self.claim.value(self.claim.at)).astype(float)
        self.note_time(time.perf_counter() - start)
        self.calls += 1
        return value

    def note_time(self, seconds: float) -> None:
        """Note what a call took: the least of all says what it costs, others were disturbed."""
        self.seconds = min(self.seconds or seconds, seconds)

    @functools.cached_property
    def x(self) -> np.ndarray:
        return np.concatenate([part.astype(float) for part in self.parts]) if self.parts else np.zeros(0)

    @functools.cached_property
    def input_unit(self) -> float:
        return max((float(np.finfo(part.dtype).eps) / 2 for part in self.parts), default=2.0**-53)

    @property
    def claim_unit(self) -> float:
        """The rounding unit of the claim: that of the inputs, or of what it is computed in."""
        return max(self.input_unit, self.claim.capabilities.claim_unit or 0.0)

    def columns(self, k: int) -> slice:
        return slice(int(self.edges[k]), int(self.edges[k + 1]))

    def input_of(self, i: int) -> int:
        return int(np.searchsorted(self.edges, i, side="right")) - 1

    def coordinate(self, i: int) -> np.floating:
        """Return element i of x, in its own type."""
        k = self.input_of(i)
        return self.parts[k][i - self.edges[k]]

    def label(self, i: int) -> tuple[str, tuple[int, ...], str]:
        """Return the input, the index, and the part ("", "re" or "im") of element i."""
        k = self.input_of(i)
        x, place, part = self.arrays[k], i - int(self.edges[k]), ""
        if x.dtype.kind == "c":
            place, part = place // 2, "im" if place % 2 else "re"
        return self.claim.wrt[k], tuple(int(j) for j in np.unravel_index(place, x.shape)), part

    def row(self, j: int) -> tuple[Path, str]:
        """Return the path of the output element that row j belongs to, and its part ("", "re" or "im")."""
        whole = OutputPart((), self.out_shape, self.out_dtype.kind == "c")
        return element_at(self.claim.layout or (whole,), j)

    def worst(self, j: int | None, i: int, claimed: Any, numeric: Any, error: float, sides: Any = None) -> Element:
        """Return what is known of entry (j, i) as a part of a report; j is None where rows were combined."""
        output, output_part = ((), "") if j is None else self.row(j)
        _, place, part = self.label(i)
        return Element(output, place, claimed, numeric, error, sides, output_part, part)

    def along(self, elements: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return f where element elements[k] of x is changed by offsets[k]: shape (points, m)."""
        per_point = sum(p.nbytes for p in self.parts) + 32 * len(self.f0) + 64
        step = max(1, MOST_BYTES // per_point)
        parts = (slice(start, start + step) for start in range(0, len(elements), step))
        return np.concatenate([self._points(elements[part], offsets[part]) for part in parts])

    def _points(self, elements: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        inputs = np.searchsorted(self.edges, elements, side="right") - 1
        count = len(elements)
        stacks = {}
        for k in sorted(set(inputs.tolist())):
            mine = np.flatnonzero(inputs == k)
            part = self.parts[k]
            stack = np.repeat(part[None], count, axis=0)
            places = elements[mine] - self.edges[k]
            stack[mine, places] = part[places] + offsets[mine].astype(part.dtype)
            x = self.arrays[k]
            stacks[self.claim.wrt[k]] = stack.view(x.dtype).reshape((count, *x.shape))
        return self.evaluate(stacks, count)

    def points(self, xs: np.ndarray, moved: Sequence[int] | None = None) -> np.ndarray:
        """Return f at real vectors xs (points, n): (points, m). moved: the inputs whose elements alone xs has."""
        stacks = {}
        chosen = range(len(self.arrays)) if moved is None else moved
        begin = self.edges[chosen[0]] if len(chosen) else 0
        for k in chosen:
            x = self.arrays[k]
            part = xs[:, self.edges[k] - begin : self.edges[k + 1] - begin].astype(self.parts[k].dtype, copy=False)
            stacks[self.claim.wrt[k]] = np.ascontiguousarray(part).view(x.dtype).reshape((len(xs), *x.shape))
        return self.evaluate(stacks, len(xs))

    def pull(self, cotangents: Sequence[np.ndarray] | np.ndarray, at: Any = None) -> np.ndarray:
        """Return the claimed products of real cotangents (of length m) with the derivative, one row each."""
        raw = [self.as_output(u) for u in cotangents]
        rows = self.claim.pulls(self.claim.at if at is None else at, raw)
        return np.array([np.concatenate([real_view(row[n]).astype(float) for n in self.claim.wrt]) for row in rows])

    def push(self, tangents: Sequence[np.ndarray] | np.ndarray, at: Any = None) -> np.ndarray:
        """Return the claimed products of the derivative with real tangents (of length n), one row each."""
        claim = self.claim
        at = claim.at if at is None else at
        outputs = (claim.push(at, self.arrays_at(u)).astype(self.out_dtype) for u in tangents)
        return np.array([real_view(out).astype(float) for out in outputs])

    def arrays_at(self, x: np.ndarray) -> dict[str, np.ndarray]:
        arrays = {}
        for k, name in enumerate(self.claim.wrt):
            part = x[self.columns(k)].astype(self.parts[k].dtype)
            arrays[name] = part.view(self.arrays[k].dtype).reshape(self.arrays[k].shape)
        return arrays

    def evaluate(self, stacks: dict[str, np.ndarray], count: int) -> np.ndarray:
        self.calls += count
        self.claim.progress.report_progress("call", self.calls, 0)
        start = time.perf_counter()
        out = self.claim.values(stacks, count, self.out)
        self.note_time((time.perf_counter() - start) / max(count, 1))
        return real_view(out.astype(self.out_dtype)).astype(float).reshape((count, -1))

    def as_output(self, u: np.ndarray) -> np.ndarray:
        return np.asarray(u, self.out.real.dtype).view(self.out_dtype).reshape(self.out_shape)

    def matrix(self, at: Arrays | None = None) -> np.ndarray:
        """Return the claimed Jacobian, real (m, n): whole where it comes so, else from the fewer of its products."""
        claim, can, m, n = self.claim, self.claim.capabilities, len(self.f0), self.size
        at = claim.at if at is None else at
        whole = claim.whole(at)
        if whole is not None:
            return self.as_rows(whole)
        claim.output(at)  # as whoever uses a gradient calls the function first
        if can.pull and (can.pulls_first or m <= n or not can.push):
            claim.claims, matrix = "vjp", np.zeros((m, n))
            for start in range(0, m, ROWS_AT_ONCE):
                claim.progress.report_progress("cotangent", start, m)
                units = np.eye(min(ROWS_AT_ONCE, m - start), m, start)
                matrix[start : start + len(units)] = self.pull(units, at)
            return matrix
        claim.claims, columns = "jvp", np.zeros((n, m))
        for i in range(n):
            claim.progress.report_progress("tangent", i, n)
            columns[i] = self.push(np.eye(1, n, i), at)[0]
        return columns.T

    def as_rows(self, blocks: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return a derivative given whole as a matrix: see `Claim.whole`. Raises WrongShapeError."""
        m, columns = len(self.f0), []
        for name, x in zip(self.claim.wrt, self.arrays, strict=True):
            block = np.asarray(blocks[name])
            rows = block.reshape((m, x.size) if block.size == m * x.size else (-1, x.size))
            if x.dtype.kind == "c":
                rows = np.stack([rows.real, rows.imag], -1).reshape((len(rows), 2 * x.size))
            columns.append(rows.real.astype(float))
        matrix = np.concatenate(columns, axis=1)
        if matrix.shape != (m, self.size):
            raise WrongShapeError(f"the derivative has {matrix.shape} elements, {(m, self.size)} are needed")
        return matrix

    def blocks(self, matrix: np.ndarray) -> dict[str, np.ndarray]:
        """Return a Jacobian as blocks by input: what `as_rows` takes."""
        pairs = (2,) if self.out_dtype.kind == "c" else ()
        blocks = {}
        for k, name in enumerate(self.claim.wrt):
            x, block = self.arrays[k], matrix[:, self.columns(k)]
            if x.dtype.kind == "c":
                block = block[:, ::2] + 1j * block[:, 1::2]
            blocks[name] = block.reshape((*self.out_shape, *pairs, *x.shape))
        return blocks


ROWS_AT_ONCE = 64  # cotangents that a framework is given for one forward pass


def scales_of(x: np.ndarray) -> np.ndarray:
    """Return the size of each element; zeros, and what steps would cut off, take the median of the others, or 1."""
    size = np.abs(x.astype(float))
    least = float(np.finfo(x.dtype).tiny / np.finfo(x.dtype).eps)
    known = size[(size > least) & np.isfinite(size)]
    if not known.size:
        return np.where(size > least, size, 1.0)
    middle = np.sort(known)[(known.size - 1) // 2 : known.size // 2 + 1].mean()  # np.median would load numpy.ma
    return np.where(size > least, size, middle)


def arrays_behind(claim: Claim) -> list[np.ndarray]:
    """Return the arrays that code of a claim's functions leads to, by name or in closures."""
    arrays = (x for function in claim.functions for x in reachable_from(function) if isinstance(x, np.ndarray))
    return list({id(x): x for x in arrays}.values())
