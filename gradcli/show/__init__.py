"""Results as data, and as text: `renders` registers a function that writes a type of result in a format."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from ..errors import GradcliError


class Format(NamedTuple):
    """What a format holds.

    endings: of the names of files that ask for it. module: where it is written, unless that is called after it.
    binary: whether it is no text for a terminal. whole: whether every element is written, however many there are.
    formulas: whether it has a place for them. rounded: whether its numbers may be given in few digits.
    """

    endings: tuple[str, ...] = ()
    module: str = ""
    binary: bool = False
    whole: bool = False
    formulas: bool = True
    rounded: bool = True


FORMATS = {
    "table": Format(),
    "tsv": Format(whole=True),
    "json": Format((".json",), whole=True),
    "csv": Format((".csv",), "tsv", whole=True),
    "latex": Format((".tex",), whole=True),
    "npz": Format((".npz",), binary=True, formulas=False, rounded=False),
    "npy": Format((".npy",), "npz", binary=True, formulas=False, rounded=False),
    "text": Format(),
    "python": Format((".py",), "text", rounded=False),
    "c": Format((".c",), "text", rounded=False),
    "dot": Format((".dot", ".gv")),
    "mermaid": Format((".mmd",), "dot"),
    "svg": Format((".svg",), "picture", formulas=False, rounded=False),
    "png": Format((".png",), "picture", binary=True, formulas=False, rounded=False),
    "html": Format((".html", ".htm")),
    "github": Format(module="reports"),
    "sarif": Format((".sarif",), "reports"),
    "junit": Format(module="reports"),
}
ENDINGS = {ending: name for name, form in FORMATS.items() for ending in form.endings}
"""The formats that files' names ask for."""
TEXT = ("table", "tsv", "json")
ARRAYS = (*TEXT, "latex", "npz", "npy", "csv")
"""The formats that results made of arrays have."""
PICTURES = ("svg", "png")
PLOTS = tuple(name for name, form in FORMATS.items() if form.module == "picture")
"""The pictures that matplotlib draws."""
CODE = ("python", "c")
"""The formats in which a formula is a function to be pasted."""


class Style(NamedTuple):
    """How to print.

    precision: digits, None for all. unicode: whether more than ASCII may be used. size: columns and lines there are.
    form: the format.
    """

    precision: int | None = None
    unicode: bool = True
    command: str = ""
    size: tuple[int, int] = (80, 24)
    form: str = "table"


Renderer = Callable[..., Any]
RENDERERS: dict[tuple[str, str], Renderer] = {}
"""The functions that write results, by format and by the name of the type of result: so no type is loaded for it."""


def renders(*forms: str) -> Callable[[Renderer], Renderer]:
    """Register what writes results, of the types that its first parameter is annotated with, in some formats."""

    def register(function: Renderer) -> Renderer:
        for kind in next(iter(function.__annotations__.values())).split(" | "):
            RENDERERS.update({(form, kind): function for form in forms})
        return function

    return register


def render(result: Any, form: str, style: Style) -> Any:
    """Return a result as text (`table`: as something rich prints; `npz` and pictures: as bytes)."""
    import_module(f"{__name__}.{FORMATS[form].module or form}")
    renderer = RENDERERS.get((form, type(result).__name__))
    if renderer is None:
        raise GradcliError(f"these numbers have no {form} form", hint="-f tsv and -f json have them", kind="usage")
    return renderer(result, style._replace(form=form))
