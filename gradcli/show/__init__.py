"""Results as data, and as text: a module for each kind of formats has their `WRITERS`."""

from importlib import import_module
from typing import Any, NamedTuple

from ..errors import GradcliError


class Format(NamedTuple):
    """What a format holds.

    endings: of the names of files that ask for it. module: where its writer is. binary: whether it is no text for a
    terminal. whole: whether every element is written, however many there are. formulas: whether it has a place for
    them. streamed: whether one check of several is written when it is done.
    """

    endings: tuple[str, ...] = ()
    module: str = "data"
    binary: bool = False
    whole: bool = False
    formulas: bool = True
    streamed: bool = False


FORMATS = {
    "table": Format(module="table", streamed=True),
    "tsv": Format(whole=True, streamed=True),
    "json": Format((".json",), whole=True),
    "csv": Format((".csv",), whole=True),
    "latex": Format((".tex",), "latex", whole=True),
    "npz": Format((".npz",), binary=True, formulas=False),
    "npy": Format((".npy",), binary=True, formulas=False),
    "raw": Format(whole=True),
    "text": Format(),
    "python": Format((".py",)),
    "c": Format((".c",)),
    "dot": Format((".dot", ".gv"), "dot"),
    "mermaid": Format((".mmd",), "dot"),
    "svg": Format((".svg",), "picture", formulas=False),
    "png": Format((".png",), "picture", binary=True, formulas=False),
    "html": Format((".html", ".htm"), "html"),
    "github": Format(module="reports", streamed=True),
    "sarif": Format((".sarif",), "reports"),
    "junit": Format(module="reports"),
    "concise": Format(module="reports", streamed=True),
    "gitlab": Format((".json",), "reports"),
}
TEXT = ("table", "tsv", "json")
ARRAYS = (*TEXT, "latex", "npz", "npy", "csv")  # the formats that results made of arrays have
PICTURES = ("svg", "png")
CODE = ("python", "c")  # the formats in which a formula is a function to be pasted


class Style(NamedTuple):
    """How to print.

    precision: digits, None for all. unicode: whether more than ASCII may be used. size: columns and lines there are.
    form: the format. whole: whether arrays are never elided, however long.
    """

    precision: int | None = None
    unicode: bool = True
    command: str = ""
    size: tuple[int, int] = (80, 24)
    form: str = "table"
    whole: bool = False


def render(result: Any, form: str, style: Style) -> Any:
    """Return a result as text (`table`: as something rich prints; `npz` and pictures: as bytes)."""
    writer = import_module(f"{__name__}.{FORMATS[form].module}").WRITERS[form]
    if isinstance(writer, dict):
        writer = writer.get(type(result))
    if writer is None or form in getattr(result, "without", ()):
        raise GradcliError(f"these numbers have no {form} form", hint="-f tsv and -f json have them")
    return writer(result, style._replace(form=form))
