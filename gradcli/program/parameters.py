"""Names and parameters: what a function's signature says, and names that nobody knows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..errors import GradcliError, did_you_mean

WHOLE = ("int", "int64", "int32", "long", "LongTensor", "IntTensor")
"""Annotations of parameters that take whole numbers."""


def annotation_name(annotation: Any) -> str:
    """Return the name of the type that an annotation names, without its module: LongTensor of torch.LongTensor."""
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return name.rpartition(".")[2]


ADVICE = "wrap it in a function whose parameters have names: def g(x, y): return f(x, y)"


def named_parameters(function: Callable, title: str) -> list[inspect.Parameter]:
    """Return a function's parameters without *args and **kwargs.

    Raises GradcliError where there are no others, ValueError or TypeError where Python does not know them.
    """
    parameters = inspect.signature(function).parameters.values()
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if parameters and not named:
        starred = " and ".join(str(p).partition(":")[0] for p in parameters)
        raise GradcliError(f"{title} takes {starred}: its inputs have no names", hint=ADVICE, kind="usage")
    return named


def pass_by_name(parameters: Iterable[inspect.Parameter], given: Mapping[str, Any]) -> tuple[list, dict[str, Any]]:
    """Return values by name as a call takes them: those of positional-only parameters in order, and the rest."""
    bare = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY and p.name in given]
    return [given[name] for name in bare], {name: x for name, x in given.items() if name not in bare}


def unknown_name(message: str, name: str, known: Iterable[str], listed: str) -> GradcliError:
    """Return the error of a name that is none of those known; listed: what their list begins with in the hint."""
    return GradcliError(
        message, hint=did_you_mean(name, known) or f"{listed} {', '.join(known)}".rstrip(), kind="name"
    )


def missing_values(title: str, names: Iterable[str], more: str = "") -> GradcliError:
    """Return the error of parameters that were given no value; more: what else the hint says."""
    listed, words = ", ".join(f"'{name}'" for name in names), " ".join(f"{name}=1" for name in names)
    return GradcliError(
        f"{title} needs a value for {listed}", hint=f"add to the command line: {words}{more}", kind="name"
    )


def check_known(names: Iterable[str], known: Iterable[str], option: str) -> None:
    """Raise GradcliError for a name that the program does not have."""
    known = list(known)
    there = set(known)
    for name in names:
        if name not in there:
            listed = "the names are" if known else "it has no names"
            raise unknown_name(f"{option}: the program has no '{name}'", name, known, listed)
