"""From results to text: one module per format, each with one function render_TYPE per type of result."""

from __future__ import annotations

from importlib import import_module
from typing import Any

TEXT = ("table", "tsv", "json")
ARRAYS = (*TEXT, "latex", "npz", "npy", "csv")
"""The formats that results made of arrays have."""
PICTURES = ("svg", "png")
"""The formats that one module draws."""
PLOTS = (*PICTURES, "pdf")
"""Those that it draws with matplotlib."""


class Style:
    """How to print.

    precision: digits, None for all. unicode: whether more than ASCII may be used. size: columns and lines there are.
    form: the format.
    """

    def __init__(
        self,
        precision: int | None = None,
        unicode: bool = True,
        command: str = "",
        size: tuple[int, int] = (80, 24),
        form: str = "table",
    ):
        self.size = size
        self.form = form
        self.precision = precision
        self.unicode = unicode
        self.command = command


def render(result: Any, form: str, style: Style) -> Any:
    """Return a result as text (`table`: as something rich prints; `npz` and pictures: as bytes)."""
    style.form = form
    module = import_module(f"{__name__}.{'picture' if form in PLOTS else form}")
    renderer = getattr(module, f"render_{type(result).__name__.lower()}", None)
    if renderer is None:
        from ..errors import GradcliError

        raise GradcliError(f"these numbers have no {form} form", hint="-f tsv and -f json have them", kind="usage")
    return renderer(result, style)
