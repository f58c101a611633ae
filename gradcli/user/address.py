"""What the words of a command line name: a file and a name in it, a module, or the address of code elsewhere."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence

from ..errors import GradcliError

ADDRESS_KINDS = {
    "umbridge": re.compile("https?://|cmd:"),
    "library": re.compile(r"(?s)(?P<path>[^()]*?\.(?:so(?:\.\d+)*|dylib|dll)):(?P<declaration>[^:]*\(.*\)\s*;?\s*)\Z"),
    "fmu": re.compile(r"(?s).*\.fmu\Z"),
    "ase": re.compile(r"(?s)ase:(?P<calculator>.*?\.py(?::[\w.]*)?|\S*)(?:\s+(?P<structure>.+))?\Z"),
}
"""The forms of addresses: http://HOST:PORT/MODEL or cmd:COMMAND, LIB.so:DECLARATION, MODEL.fmu, ase:FILE.py:NAME."""


def kind_of_address(text: str) -> str | None:
    return next((kind for kind, form in ADDRESS_KINDS.items() if form.match(text)), None)


def split_name(text: str) -> tuple[str, str | None]:
    """Return the file and name of FILE.py:NAME, also in an address of ASE; for other text, the text and None.

    FILE may be a notebook, so that reading it can say how to convert it.
    """
    address = ADDRESS_KINDS["ase"].match(text)
    named = re.match(r"(?s)(.*?\.(?:py|ipynb)):(.*)", address["calculator"] if address else text)
    return (named[1], named[2]) if named else (text, None)


def join_structures(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command line, joining ase:FILE.py:NAME and the structure that follows it."""
    rest = iter(words)
    for word in rest:
        if address := ADDRESS_KINDS["ase"].match(word):
            structure = address["structure"] or next(rest, "")
            yield f"ase:{as_file(address['calculator'], installed=True)} {structure}".rstrip()
        else:
            yield as_file(word)


def project_files(targets: Sequence[str]) -> Iterator[str]:
    """Yield each pyproject.toml above the first target that is a file, else above this folder, the nearest first."""
    folder = os.path.abspath(next((file for file, _ in map(split_name, targets) if os.path.exists(file)), os.curdir))
    below = None
    while folder != below:
        if os.path.isfile(path := os.path.join(folder, "pyproject.toml")):
            yield path
        folder, below = os.path.dirname(folder), folder


MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def names_module(text: str) -> bool:
    """Report whether a target has the form pkg.module:NAME."""
    plain = ":" in text and split_name(text)[1] is None and MODULE.fullmatch(text)
    return bool(plain) and not kind_of_address(text) and not os.path.exists(text)


OTHER_LANGUAGES = "js mjs cjs ts jl r R m rs go lua rb java f90 f c cpp cc".split()
"""The endings of files in other languages."""


LIBRARY_ENDING = re.compile(r"\.(so(\.\d+)*|dylib|dll)\Z")


def hint_on(path: str) -> str | None:
    """Return how to use a file in another language, or a library; None for other files."""
    if LIBRARY_ENDING.search(path):
        return f"{path} is a library: name one of its functions by the declaration in C, '{path}:double f(double x)'"
    if path.rpartition(".")[2] not in OTHER_LANGUAGES or not os.path.exists(path):
        return None
    ways = "build a library (LIB.so:DECLARATION), or write a program (cmd:COMMAND)"
    return f"{path} is not Python: {ways}; see 'gradcli help protocol'"


def as_file(text: str, installed: bool = False) -> str:
    """Return FILE.py:NAME for pkg.module:NAME if the module is here, in src, or installed; other text unchanged.

    installed: search installed modules, too, and raise GradcliError if there is none.
    """
    if not names_module(text):
        return text
    module, _, name = text.partition(":")
    base = module.replace(".", os.sep)
    places = [os.path.join(root, base + end) for root in ("", "src") for end in (".py", f"{os.sep}__init__.py")]
    found = next(filter(os.path.isfile, places), None)
    if found is None and installed:
        from importlib.util import find_spec

        with contextlib.suppress(ImportError, ValueError):
            spec = find_spec(module)
            found = spec.origin if spec is not None and str(spec.origin).endswith(".py") else None
        if found is None:
            raise GradcliError(f"no module '{module}' here, in src, or installed", hint=hint_on(module), kind="file")
    return text if found is None else f"{found}:{name}"
