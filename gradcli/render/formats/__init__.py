"""The formats of results: one module each, and what is to be known of a format before its module is loaded."""

from __future__ import annotations

from typing import NamedTuple


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
    "csv": Format((".csv",), whole=True),
    "latex": Format((".tex",), whole=True),
    "npz": Format((".npz",), binary=True, formulas=False, rounded=False),
    "npy": Format((".npy",), "npz", binary=True, formulas=False, rounded=False),
    "text": Format(),
    "python": Format((".py",), "code", rounded=False),
    "c": Format((".c",), "code", rounded=False),
    "dot": Format((".dot", ".gv")),
    "mermaid": Format((".mmd",)),
    "svg": Format((".svg",), "image_file", formulas=False, rounded=False),
    "png": Format((".png",), "image_file", binary=True, formulas=False, rounded=False),
    "html": Format((".html", ".htm")),
    "github": Format(),
    "sarif": Format((".sarif",)),
    "junit": Format(),
}
ENDINGS = {ending: name for name, form in FORMATS.items() for ending in form.endings}
"""The formats that files' names ask for."""
TEXT = ("table", "tsv", "json")
ARRAYS = (*TEXT, "latex", "npz", "npy", "csv")
"""The formats that results made of arrays have."""
PICTURES = ("svg", "png")
PLOTS = tuple(name for name, form in FORMATS.items() if form.module == "image_file")
"""The pictures that matplotlib draws."""
CODE = tuple(name for name, form in FORMATS.items() if form.module == "code")
"""The formats in which a formula is a function to be pasted."""


def module_of(form: str) -> str:
    """Return the name of the module that writes a format."""
    return FORMATS[form].module or form
