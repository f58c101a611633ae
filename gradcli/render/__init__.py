"""From results to text: `formats` has a module per format, with a function for each type of result.

The other modules write what several formats share, or one part of a result. `renders` registers a function.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from ..errors import GradcliError
from .formats import module_of


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


def renders(form: str | None = None) -> Callable[[Renderer], Renderer]:
    """Register what writes results of the types that its first parameter is annotated with.

    form: the format; unless it is given, the one that the function's module is called after.
    """

    def register(function: Renderer) -> Renderer:
        for kind in next(iter(function.__annotations__.values())).split(" | "):
            RENDERERS[form or function.__module__.rpartition(".")[2], kind] = function
        return function

    return register


def render(result: Any, form: str, style: Style) -> Any:
    """Return a result as text (`table`: as something rich prints; `npz` and pictures: as bytes)."""
    module = module_of(form)
    import_module(f"{__name__}.formats.{module}")
    renderer = RENDERERS.get((module, type(result).__name__))
    if renderer is None:
        raise GradcliError(f"these numbers have no {form} form", hint="-f tsv and -f json have them", kind="usage")
    return renderer(result, style._replace(form=form))
