"""The formats of results: file endings, and the module of `gradcli.show` whose table `WRITERS` has the writer."""

from importlib import import_module
from typing import Any, NamedTuple

from ..errors import GradcliError


class Format(NamedTuple):
    """Properties of a format.

    endings: of its files. module: the one with its writer. binary: not printed on a terminal. whole: arrays are never
    elided. streamed: each check is written as soon as it is done.
    """

    endings: tuple[str, ...] = ()
    module: str = "data"
    binary: bool = False
    whole: bool = False
    streamed: bool = False


FORMATS = {
    "table": Format(module="table", streamed=True),
    "tsv": Format(whole=True, streamed=True),
    "json": Format((".json",), whole=True),
    "csv": Format((".csv",), whole=True),
    "latex": Format((".tex",), "latex", whole=True),
    "npz": Format((".npz",), binary=True),
    "npy": Format((".npy",), binary=True),
    "raw": Format(whole=True),
    "text": Format(),
    "python": Format((".py",)),
    "c": Format((".c",)),
    "fortran": Format((".f90", ".f95", ".f03", ".f08")),
    "julia": Format((".jl",)),
    "rust": Format((".rs",)),
    "js": Format((".js", ".mjs")),
    "matlab": Format((".m",)),
    "dot": Format((".dot", ".gv"), "dot"),
    "mermaid": Format((".mmd",), "dot"),
    "svg": Format((".svg",), "picture"),
    "png": Format((".png",), "picture", binary=True),
    "html": Format((".html", ".htm"), "html"),
    "github": Format(module="reports", streamed=True),
    "sarif": Format((".sarif",), "reports"),
    "junit": Format(module="reports"),
    "concise": Format(module="reports", streamed=True),
    "diff": Format((".diff", ".patch"), "reports"),
    "gitlab": Format((".json",), "reports"),
    "report": Format(module="table"),  # these two are for str() and notebooks, not for -f
    "notebook": Format(module="html"),
}
TEXT = ("table", "tsv", "json")
ARRAY_FORMATS = (*TEXT, "latex", "npz", "npy", "csv", "raw")  # formats for results made of arrays
PICTURE_FORMATS = ("svg", "png")
CODE = ("python", "c", "fortran", "julia", "rust", "js", "matlab")  # formats that write a function to paste


class Style(NamedTuple):
    """How to print.

    precision: digits, None for all. unicode: use characters outside ASCII. size: columns and lines. form: the format.
    whole: never elide arrays.
    """

    precision: int | None = None
    unicode: bool = True
    command: str = ""
    size: tuple[int, int] = (80, 24)
    form: str = "table"
    whole: bool = False


def render(result: Any, form: str, style: Style) -> Any:
    """Return a result as text, for `table` as an object that rich prints, for binary formats as bytes."""
    writer = import_module(f"gradcli.show.{FORMATS[form].module}").WRITERS[form]
    if isinstance(writer, dict):
        writer = writer.get(type(result))
    if writer is None or form in getattr(result, "without", ()):
        raise GradcliError(f"this result cannot be written as {form}", hint="use -f tsv or -f json")
    return writer(result, style._replace(form=form))
