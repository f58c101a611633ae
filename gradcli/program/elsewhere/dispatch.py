"""The choice among the frameworks: which adapter calls a function, and with what arguments."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from ...errors import GradcliError, describe_error
from ..detect_framework import ENGINES
from ..parameters import WHOLE, annotation_name, check_known, missing_values
from .base import ElsewhereError
from .framework import FrameworkCall, as_whole, is_under, is_whole

ADAPTERS = {"torch": "TorchCall", "jax": "JaxCall", "autograd": "AutogradCall"}


def adapter_of(engine: str) -> Any:
    """Return the class of calls of a framework. Raises GradcliError when it is not installed."""
    if engine not in ADAPTERS:
        raise GradcliError(f"no engine '{engine}'", hint=f"there are {', '.join(ENGINES)}", kind="usage")
    try:
        return getattr(import_module(f"{__package__}.{engine}"), ADAPTERS[engine])
    except Exception as error:  # a broken installation raises anything
        missing = isinstance(error, ModuleNotFoundError) and error.name == engine
        hint = f"pip install {engine}" if missing else f"python -c 'import {engine}' fails, too: install it anew"
        raise GradcliError(f"--engine {engine}: {describe_error(error)}", hint=hint, kind="usage") from error


def framework_call(
    engine: str,
    function: Any,
    given: Mapping[str, Any],
    title: str,
    *,
    wrt: Sequence[str] | None = None,
    single: bool = False,
) -> FrameworkCall:
    """Return a call of a function, a custom Function or a module with arguments by name, as a framework runs it.

    Numbers outside `wrt` stay fixed. Where the function takes no floating-point number for an argument that is whole,
    it gets a whole one. Raises ElsewhereError.
    """

    def fixed(path: str) -> bool:
        return wrt is not None and not any(is_under(path, name) for name in wrt)

    adapter = adapter_of(engine)

    def made(whole: Sequence[str]) -> FrameworkCall:
        values = {name: as_whole(x) if name in whole else x for name, x in given.items()}
        return adapter.of(function, values, fixed, title, single)

    try:
        return made(())
    except ElsewhereError as error:
        whole = [name for name, x in given.items() if is_whole(x) and (wrt is None or fixed(name))]
        for names in [*([name] for name in whole), whole] if len(whole) > 1 else [whole] * bool(whole):
            with contextlib.suppress(ElsewhereError):
                call = made(names)
                call.notes = (*call.notes, f"{', '.join(names)} taken as whole, and not differentiated")
                return call
        raise error from error.__cause__


def framework_arguments(engine: str, function: Any, given: Mapping[str, Any], title: str) -> dict[str, Any]:
    """Return arguments in the order of a function's parameters, those annotated as whole numbers as such.

    Raises GradcliError for those that are missing, or that the function does not have.
    """
    signature = adapter_of(engine).signature(function, title)
    if signature is None:
        return dict(given)
    parameters, others = signature
    names = [p.name for p in parameters]
    check_known(given, [*names, *others], "value")
    missing = [p.name for p in parameters if p.name not in given and p.default is p.empty]
    if missing:
        raise missing_values(title, missing)
    whole = {p.name for p in parameters if annotation_name(p.annotation) in WHOLE or type(p.default) is int}
    return {
        n: as_whole(given[n]) if n in whole and is_whole(given[n]) else given[n]
        for n in [*names, *others]
        if n in given
    }
