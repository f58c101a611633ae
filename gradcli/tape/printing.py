"""Print tensors in PyTorch's layout, with aligned columns and long axes shortened."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .dtypes import COMPLEX_OF, as_dtype, defaults


@dataclass
class PrintOptions:
    """The layout of numbers: digits after the point, the number of elements above which axes are shortened, etc."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


options = PrintOptions()
PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print: a profile (`default`, `short`, `full`), then single options; sci_mode is always set."""
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    if profile in PROFILES:
        given = {name: getattr(PROFILES[profile], name) if v is None else v for name, v in given.items()}
    for name, value in given.items():
        if value is not None:
            setattr(options, name, value)
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the arguments of set_printoptions for the current layout."""
    return asdict(options)


class RealFormat:
    """Formats all real numbers of a tensor in one way: plain, whole, or in scientific notation."""

    def __init__(self, values: np.ndarray):
        self.is_float = values.dtype.kind == "f"
        self.scientific = False
        deciding = values[np.isfinite(values) & (values != 0)] if self.is_float else values
        sizes = np.abs(deciding.astype(float))
        self.whole = bool((sizes == np.ceil(sizes)).all())
        if self.is_float and sizes.size:
            low, high = float(sizes.min()), float(sizes.max())
            chosen = high / low > 1000 or high > 1e8 or low < 1e-4
            self.scientific = chosen if options.sci_mode is None else options.sci_mode
        self.width = max((len(self.plain(v)) for v in deciding.ravel().tolist()), default=1)

    def plain(self, value: Any) -> str:
        if not self.is_float:
            return str(value)
        if self.scientific:
            return f"{value:.{options.precision}e}"
        if self.whole:
            return f"{value:.0f}" + ("." if math.isfinite(value) else "")
        return f"{value:.{options.precision}f}"

    def __call__(self, value: Any) -> str:
        return self.plain(value).rjust(self.width)


class ComplexFormat:
    """Formats complex numbers, all real parts in one way and all imaginary parts in one way."""

    def __init__(self, values: np.ndarray):
        self.real, self.imag = RealFormat(values.real), RealFormat(values.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = (self.imag(value.imag) + "j").lstrip()
        return self.real(value.real) + ("" if imag[0] in "+-" else "+") + imag


def shown_places(length: int, elide: bool) -> list[Any]:
    """Return the indices to show along an axis, with None for those left out."""
    edge = options.edgeitems
    return [*range(edge), None, *range(length - edge, length)] if elide and length > 2 * edge else [*range(length)]


def bracket_text(data: np.ndarray, indent: int, elide: bool, form: Any) -> str:
    if data.ndim == 0:
        return form(data.item())
    parts = shown_places(len(data), elide)
    if data.ndim == 1:
        words = [(" ..." if options.edgeitems else "...") if i is None else form(data[i].item()) for i in parts]
        per_line = max(1, (options.linewidth - indent) // (form.width + 2))
        lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    blocks = ["..." if i is None else bracket_text(data[i], indent + 1, elide, form) for i in parts]
    return "[" + ("," + "\n" * (data.ndim - 1) + " " * (indent + 1)).join(blocks) + "]"


def layout_text(data: np.ndarray, indent: int) -> str:
    """Lay out the elements of an array as PyTorch does."""
    if data.size == 0:
        return "[]"
    elide = data.size > options.threshold
    axes = [[i for i in shown_places(length, elide) if i is not None] for length in data.shape]
    shown = data[np.ix_(*axes)] if elide else data
    form = ComplexFormat(shown) if data.dtype.kind == "c" else RealFormat(shown)
    return bracket_text(data, indent, elide, form)


def tensor_text(tensor: Any, prefix: str = "tensor(") -> str:
    """Return a tensor as `tensor([1., 2.], requires_grad=True)`."""
    data = np.asarray(tensor._data)
    if data.dtype == object:
        return f"{prefix}{str(data.tolist()) if data.ndim else data[()]})"
    indent = len(prefix)
    text = prefix + layout_text(data, indent)
    suffixes = []
    default_types = (defaults.float, COMPLEX_OF[defaults.float], np.dtype(np.int64), np.dtype(np.bool_))
    if (data.size == 0 and data.shape != (0,)) or (data.size and not options.edgeitems):
        suffixes.append(f"size={tuple(data.shape)}")
    if data.dtype not in (default_types if data.size else default_types[:1]):
        suffixes.append(f"dtype={as_dtype(data.dtype)!r}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > options.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"
