"""What names mean in the language: constants and functions, and what to say of others."""

from __future__ import annotations

from typing import Any

from ..errors import GradcliError, did_you_mean
from ..rules import full_table, lookup
from ..rules.table import NAMES, Primitive

CONSTRUCTORS = frozenset("zeros ones full eye identity arange linspace logspace rand randn array".split())
NEEDS_STRINGS = {"einsum"}
SPECIAL = {"array", "const", "rand", "randn", "where"}
SYNONYMS = {"dim": "axis", "keepdim": "keepdims"}


def function_names() -> list[str]:
    full_table()
    return sorted(({name for name, primitive in NAMES.items() if primitive.public} | SPECIAL) - NEEDS_STRINGS)


def find_function(name: str) -> Primitive | None:
    """Return the table's entry for a function of the language, or None."""
    primitive = lookup(name)
    return primitive if primitive is not None and primitive.public and name not in NEEDS_STRINGS else None


def not_called(name: str, span: Any) -> GradcliError:
    """Return the error for a value that is called like a function."""
    return GradcliError(
        f"'{name}' is a value, not a function",
        span=span,
        hint=f"multiply with *: {name}*(...); an element is {name}[0]",
        kind="name",
    )


def advice_for(name: str) -> str:
    """Return what to do about an unknown function."""
    near = did_you_mean(name, function_names())
    if name in NEEDS_STRINGS:
        return "the expression language has no strings; write it with @, outer, sum and transpose"
    if name in ("print", "eval", "exec", "open", "input", "range", "len", "import"):
        return "the expression language has mathematical functions only; see 'gradcli ops'"
    if near and not near.endswith("?"):
        return near
    return f"{near} see 'gradcli ops'" if near else "see 'gradcli ops' for all functions"
