"""Reads the declaration of a C function: `double f(int n, const double *x)`."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...errors import GradcliError

WHOLE = {
    "int": "int",
    "signed": "int",
    "long": "long",
    "short": "short",
    "long long": "longlong",
    "unsigned": "uint",
    "unsigned long": "ulong",
    "unsigned long long": "ulonglong",
    "unsigned short": "ushort",
    "size_t": "size_t",
    "ssize_t": "ssize_t",
    "ptrdiff_t": "ssize_t",
    "int32_t": "int32",
    "int64_t": "int64",
    "uint32_t": "uint32",
    "uint64_t": "uint64",
}
"""Types of whole numbers, and what ctypes calls them (c_int and so on)."""
REAL = {"double": "float64", "float": "float32"}
DECLARATION = re.compile(r"\s*(?P<returns>[\w\s*]*?[\s*])(?P<name>[A-Za-z_]\w*)\s*\((?P<rest>.*)\)\s*;?\s*\Z", re.S)
PARAMETER = re.compile(r"(?P<type>[\w\s]*?[\w\s])(?P<star>\*?)\s*(?P<name>[A-Za-z_]\w*)\s*(?P<length>(?:\[\w*\])*)\Z")
QUALIFIERS = re.compile(r"\b(?:const|restrict|__restrict|__restrict__|volatile|extern|static|inline|struct)\b")


class Parameter(NamedTuple):
    """A parameter: kind is whole, number, input (const double *) or output (double *); type as NumPy or ctypes
    call it.
    """

    name: str
    kind: str
    type: str


class Declaration(NamedTuple):
    """A function: returns is a type as NumPy or ctypes call it, or void."""

    name: str
    returns: str
    parameters: tuple[Parameter, ...]


def read_declaration(text: str) -> Declaration:
    """Return what a declaration says. Raises GradcliError for what is none, and for types that are not known."""
    match = DECLARATION.match(text)
    if not match:
        raise GradcliError(
            f"'{text}' is no declaration of a C function",
            hint="write the line of the header: 'double f(int n, const double *x)'",
            kind="usage",
        )
    returns = plain_type(match["returns"])
    if returns not in ("void", *WHOLE, *REAL):
        raise GradcliError(f"'{text}': it returns {returns}, not double, float, int or void", kind="usage")
    rest = match["rest"].strip()
    words = [] if rest in ("", "void") else rest.split(",")
    parameters = tuple(read_parameter(word.strip(), text) for word in words)
    names = [p.name for p in parameters]
    if len(set(names)) != len(names):
        raise GradcliError(f"'{text}': two parameters have the same name", kind="usage")
    return Declaration(match["name"], "void" if returns == "void" else (WHOLE | REAL)[returns], parameters)


def read_parameter(word: str, text: str) -> Parameter:
    """Return what one parameter is. Raises GradcliError."""
    bare = re.sub(r"\*\s*(?:const|restrict|__restrict|__restrict__)\s*", "*", word)
    match = PARAMETER.match(bare)
    if not match:
        raise GradcliError(
            f"'{text}': the parameter '{word}' cannot be read", hint="every parameter needs a name", kind="usage"
        )
    kind, is_array = plain_type(match["type"]), bool(match["star"] or match["length"])
    if (match["star"] and match["length"]) or match["length"].count("[") > 1 or (is_array and kind not in REAL):
        raise GradcliError(f"'{text}': '{word}' is no array of double or float", kind="usage")
    if kind in REAL:
        is_input = bool(re.search(r"\bconst\b", match["type"]))
        return Parameter(match["name"], ("input" if is_input else "output") if is_array else "number", REAL[kind])
    if kind not in WHOLE:
        raise GradcliError(f"'{text}': '{word}' has a type that is not known: {kind}", kind="usage")
    return Parameter(match["name"], "whole", WHOLE[kind])


def plain_type(words: str) -> str:
    """Return a type without what does not matter here: `const long int` is long."""
    return " ".join(QUALIFIERS.sub(" ", words).split()).removesuffix(" int")
