"""From the inputs of a command line to the arguments of plain functions."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...errors import GradcliError, did_you_mean
from ...program.elsewhere.framework import as_whole, is_whole
from ...program.parameters import WHOLE, annotation_name, missing_values, named_parameters, pass_by_name


def arguments_of(f: Callable, given: Mapping[str, Any], title: str) -> dict[str, Any]:
    """Return the inputs of a plain function in the order of its parameters. Raises GradcliError for missing ones."""
    try:
        parameters = named_parameters(f, title)
    except (TypeError, ValueError):
        return dict(given)
    names = [p.name for p in parameters]
    if not names:
        raise GradcliError(f"{title} has no parameters, so there is nothing to check", kind="name")
    for name in given:
        if name not in names:
            advice = did_you_mean(name, names) or f"its parameters are {', '.join(names)}"
            raise GradcliError(f"{title} has no parameter '{name}'", hint=advice, kind="name")
    missing = [p.name for p in parameters if p.name not in given and p.default is p.empty]
    if missing:
        raise missing_values(title, missing, f", or --shape {missing[0]}=3,4")
    whole = {p.name for p in parameters if takes_whole(p.annotation)}
    return {n: as_whole(given[n]) if n in whole and is_whole(given[n]) else given[n] for n in names if n in given}


def takes_whole(annotation: Any) -> bool:
    """Return whether an annotation names whole numbers: int, or an array of them such as NDArray[np.int64]."""
    text = annotation_name(annotation) if isinstance(annotation, type) else str(annotation)
    return "float" not in text and any(re.search(rf"\b{word}\b", text) for word in WHOLE)


def by_name(function: Callable, names: Iterable[str], first: int = 0) -> Callable:
    """Return a function to call with values of these names in order, which passes them on under their names.

    The first few arguments are passed on as they come. A function that lacks one of these parameters is returned as
    it is.
    """
    names = list(names)
    try:
        parameters = list(inspect.signature(function).parameters.values())[first:]
    except (TypeError, ValueError):
        return function
    known = {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    if not known.issuperset(names):
        return function

    @functools.wraps(function)
    def call(*values: Any) -> Any:
        bare, named = pass_by_name(parameters, dict(zip(names, values[first:], strict=True)))
        return function(*values[:first], *bare, **named)

    return call
