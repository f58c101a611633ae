"""Assertions about tensors and numbers: `assert_close`, with PyTorch's tolerances and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .face.convert import promote_types
from .face.wrap import missing
from .tape.dtypes import as_numpy
from .tape.tensor import Tensor, as_raw

TOLERANCES = {"float16": (1e-3, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}
"""Relative and absolute tolerance by type; complex numbers count as their parts."""
WIDE = {"f": np.float64, "c": np.complex128, "i": np.int64}
"""Types in which single numbers are compared."""
LOOSE = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}
"""Those of assert_allclose."""
COMPARED: tuple = ((Tensor, np.ndarray), (int, float, complex, np.number))
"""What is compared with each other: arrays, and numbers."""
Path = tuple[Any, ...]


def pairs(actual: Any, expected: Any, path: Path = ()) -> Iterator[tuple[Any, Any, Path]]:
    """Yield what is compared with what in nested sequences and mappings, and where it stands.

    Raises AssertionError for other lengths or keys, TypeError for what cannot be compared.
    """
    alike = any(isinstance(actual, kind) and isinstance(expected, kind) for kind in COMPARED)
    if alike:
        yield actual, expected, path
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        absent, more = set(expected) - set(actual), set(actual) - set(expected)
        if absent or more:
            raise AssertionError(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(absent)}\n"
                f"Additional keys in the actual mapping: {sorted(more)}" + failed_at(path)
            )
        for key in expected:
            yield from pairs(actual[key], expected[key], (*path, key))
    elif is_sequence(actual) and is_sequence(expected):
        if len(actual) != len(expected):
            raise AssertionError(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}" + failed_at(path)
            )
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            yield from pairs(a, b, (*path, i))
    else:
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
            + failed_at(path)
        )


def is_sequence(x: Any) -> bool:
    """Return whether something is a sequence of things to be compared."""
    return isinstance(x, Sequence) and not isinstance(x, str | bytes)


def failed_at(path: Path) -> str:
    """Return the words that tell where in nested containers something differs."""
    return "\n\nThe failure occurred for item " + "".join(f"[{key!r}]" for key in path) if path else ""


def tolerances(kinds: list, rtol: Any, atol: Any, table: dict) -> tuple[float, float]:
    """Return the tolerances: as given, else the loosest for the types. Raises ValueError where one alone is given."""
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    if rtol is not None:
        return rtol, atol
    names = [{"complex64": "float32", "complex128": "float64"}.get(kind.name, kind.name) for kind in kinds]
    found = [table.get(name, (0.0, 0.0)) for name in names]
    return max(r for r, _ in found), max(a for _, a in found)


def difference(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool) -> str | None:
    """Return how two arrays or numbers of one shape differ, None where they are close."""
    shown = expected, actual
    if actual.dtype.kind in "bui":
        actual, expected = actual.astype(np.int64), expected.astype(np.int64)
    with np.errstate(all="ignore"):
        close = np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
        if close.all():
            return None
        if not np.ndim(actual):
            actual, expected = (
                actual.astype(WIDE.get(actual.dtype.kind)),
                expected.astype(WIDE.get(actual.dtype.kind)),
            )
        gap = np.abs(actual - expected)
        kind = np.float32 if gap.dtype.kind == "i" else gap.dtype
        share = (gap / np.abs(expected)).astype(kind if gap.ndim else np.float64)
    exact = rtol == atol == 0
    limits = ["" if exact else f" (up to {limit} allowed)" for limit in (atol, rtol)]
    word = "equal" if exact else "close"
    if not gap.ndim:
        return (
            f"Scalars are not {word}!\n\nExpected {shown[0].item()} but got {shown[1].item()}.\n"
            f"Absolute difference: {gap.item()}{limits[0]}\nRelative difference: {share.item()}{limits[1]}"
        )
    lines = [f"Tensor-likes are not {word}!\n"]
    wrong = int((~close).sum())
    lines.append(f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})")
    for name, values, limit in (("absolute", gap, limits[0]), ("relative", share, limits[1])):
        values = np.where(close, 0, values)
        place = np.unravel_index(int(np.argmax(values)), values.shape)
        index = tuple(int(i) for i in place)
        lines.append(f"Greatest {name} difference: {values[place].item()} at index {index}{limit}")
    return "\n".join(lines)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
    tolerance_of: dict = TOLERANCES,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol |expected|, shapes and types being equal.

    Sequences and mappings are compared item by item. msg: other words for the error, or a function of its words.
    """
    for a, b, path in pairs(actual, expected):
        text = compared(a, b, rtol, atol, equal_nan, check_dtype, tolerance_of)
        if text is not None:
            text += failed_at(path)
            raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg)


def compared(
    a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool, check_dtype: bool, tolerance_of: dict
) -> str | None:
    """Return how two tensors, or two numbers, differ; None where they agree."""
    numbers = not isinstance(a, Tensor | np.ndarray)
    if not numbers and tuple(a.shape) != tuple(b.shape):
        return f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}."
    if check_dtype and numbers and type(a) is not type(b):
        return f"The (d)types do not match: {type(a)} != {type(b)}."
    if check_dtype and not numbers and a.dtype != b.dtype:
        return f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}."
    x, y = as_raw(a), as_raw(b)
    limits = tolerances([x.dtype, y.dtype], rtol, atol, tolerance_of)
    if x.dtype != y.dtype:
        common = as_numpy(promote_types(x.dtype, y.dtype))
        x, y = x.astype(common), y.astype(common)
    return difference(x, y, *limits, equal_nan)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """assert_close in its old form: wider tolerances, types may differ, numbers stand for tensors."""
    x, y = (t if isinstance(t, Tensor) else Tensor._wrap(np.asarray(t), None) for t in (actual, expected))
    settings = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan, "msg": msg or None}
    assert_close(x, y, check_dtype=False, tolerance_of=LOOSE, **settings)  # type: ignore[arg-type]


__all__ = ["assert_allclose", "assert_close"]
__getattr__ = missing(__name__, lambda: __all__)
