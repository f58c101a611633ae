"""View a function of named arrays and its claimed derivative as a function of one real vector and its Jacobian."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from ..claims.claim import Arrays, CallError, Claim, WrongShapeError
from ..program.arguments import OutputPart, Path, as_array, element_at, is_framework_array
from ..user.frameworks import reachable_from


def real_view(x: np.ndarray) -> np.ndarray:
    """Return an array as a vector of real numbers; a complex element gives its real and its imaginary part."""
    flat = np.ascontiguousarray(x).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


class Flat:
    """The real vector x of the inputs to differentiate, and f as a function of it.

    f0: f at x, a real vector of length m. unit: rounding unit of f's values. scales: size of each element of x; for
    zeros, the median of the input's other elements, at most 1. fixed: mask of nan or infinite elements, kept constant.
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
        self.fixed = ~np.isfinite(self.x)

    @functools.cached_property
    def x(self) -> np.ndarray:
        return np.concatenate([part.astype(float) for part in self.parts]) if self.parts else np.zeros(0)

    @functools.cached_property
    def input_unit(self) -> float:
        return max((float(np.finfo(part.dtype).eps) / 2 for part in self.parts), default=2.0**-53)

    @property
    def claim_unit(self) -> float:
        """The rounding unit of the claim: that of the inputs, or of the type it is computed in if that is larger."""
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
        whole = OutputPart(Path(), self.out_shape, self.out_dtype.kind == "c")
        return element_at(self.claim.layout or (whole,), j)

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

    def as_output(self, u: np.ndarray) -> np.ndarray:
        return np.asarray(u, self.out.real.dtype).view(self.out_dtype).reshape(self.out_shape)

    def matrix(self, at: Arrays | None = None) -> np.ndarray:
        """Return the claimed Jacobian, real (m, n): as given if it is given whole, else from the cheaper products."""
        claim, can, m, n = self.claim, self.claim.capabilities, len(self.f0), self.size
        at = claim.at if at is None else at
        whole = claim.whole(at)
        if whole is not None:
            return self.as_rows(whole)
        claim.output(at)  # programs call the function before its gradient
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
        """Return a derivative that is given whole (see `Claim.whole`) as a matrix. Raises WrongShapeError."""
        m, columns = len(self.f0), []
        for name, x in zip(self.claim.wrt, self.arrays, strict=True):
            block = np.asarray(blocks[name])
            rows = block.reshape((m, x.size) if block.size == m * x.size else (-1, x.size))
            if x.dtype.kind == "c":
                rows = np.stack([rows.real, rows.imag], -1).reshape((len(rows), 2 * x.size))
            columns.append(rows.real.astype(float))
        matrix = np.concatenate(columns, axis=1)
        if matrix.shape != (m, self.size):
            raise WrongShapeError(f"the derivative is a {matrix.shape} matrix; it must be {(m, self.size)}")
        return matrix

    def blocks(self, matrix: np.ndarray) -> dict[str, np.ndarray]:
        pairs = (2,) if self.out_dtype.kind == "c" else ()
        blocks = {}
        for k, name in enumerate(self.claim.wrt):
            x, block = self.arrays[k], matrix[:, self.columns(k)]
            if x.dtype.kind == "c":
                block = block[:, ::2] + 1j * block[:, 1::2]
            blocks[name] = block.reshape((*self.out_shape, *pairs, *x.shape))
        return blocks


ROWS_AT_ONCE = 64  # cotangents passed to a framework for one forward pass


def medians_of(rows: np.ndarray) -> np.ndarray:
    """Return the median of each row: np.median loads numpy.ma, which a small check has no use for."""
    ordered, count = np.sort(rows, axis=-1), rows.shape[-1]
    return ordered[..., (count - 1) // 2 : count // 2 + 1].mean(axis=-1)


def median_of(numbers: np.ndarray) -> float:
    return float(medians_of(numbers.reshape(-1)))


def scales_of(x: np.ndarray) -> np.ndarray:
    """Return the size of each element; for zeros and sizes near underflow, the median of the others, at most 1."""
    size = np.abs(x.astype(float))
    least = 1e7 * float(np.finfo(x.dtype).tiny)
    good = (size > least) & np.isfinite(size)
    middle = median_of(size[good]) if good.any() else 1.0
    return np.where(good, size, min(middle, 1.0))


def arrays_behind(claim: Claim, of_frameworks: bool = False) -> list[tuple[str, np.ndarray]]:
    """Return the arrays that the code of a claim's functions uses, also through closures, each with its name there.

    The name is "" if the code has no name for the array, or another array has the same one. of_frameworks: whether
    numbers of PyTorch's tensors and of JAX's arrays count, too.
    """
    arrays = [(name, x) for name, x in claim.constants.items() if isinstance(x, np.ndarray)]
    seen = {id(x) for _, x in arrays}
    for function in claim.functions:
        reached = list(reachable_from(function))
        names: dict[int, str] = {}
        for x in reached[::-1]:  # the names in the function itself come before those in functions that it calls
            names |= names_in_function(x)
        for x in reached:
            raw = as_array(x) if of_frameworks and is_framework_array(x) else x
            if isinstance(raw, np.ndarray) and id(x) not in seen:
                seen.add(id(x))
                name = names.get(id(x), "")
                arrays.append(("" if any(name == other for other, _ in arrays) else name, raw))
    return arrays


def names_in_function(x: Any) -> dict[int, str]:
    """Return the names of the defaults of a function, and of what it uses from closures, globals and modules, by id."""
    code, variables = getattr(x, "__code__", None), getattr(x, "__globals__", None)
    if not isinstance(code, CodeType) or not isinstance(variables, dict):
        return {}
    defaults = getattr(x, "__defaults__", None) or ()
    names = {id(value): name for name, value in (getattr(x, "__kwdefaults__", None) or {}).items()}
    names |= zip(map(id, defaults), code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount], strict=True)
    cells = zip(code.co_freevars, getattr(x, "__closure__", None) or (), strict=False)
    names |= {id(cell.cell_contents): name for name, cell in cells if is_filled(cell)}
    used = [(name, variables[name]) for name in code.co_names if name in variables]
    for module in (module for _, module in used if isinstance(module, ModuleType)):
        names |= {id(vars(module)[name]): name for name in code.co_names if name in vars(module)}
    return names | {id(value): name for name, value in used}


def is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
