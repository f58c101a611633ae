"""Functions that run somewhere else: in another framework, another process, a server, a library of C.

A kind of address is a line of KINDS (`program/target.py`) and the module of that name; its `open_address` returns what
makes the function there from values of its inputs. A framework is a line of FRAMEWORKS
(`program/detect_framework.py`) and the module of that name with an `Adapter`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...errors import GradcliError
from ...request import Request
from ..target import kind_of_address

ANSWER_SECONDS = 60.0
"""How long one answer may take, unless --timeout says it."""


def open_address(text: str, request: Request) -> Callable[..., Any]:
    """Return what makes the Claim at an address from values of its inputs; all use one connection or process.

    Raises GradcliError for an address that cannot be, and for options that have no meaning there.
    """
    kind = kind_of_address(text)
    if request.safe and not text.startswith("http"):
        raise GradcliError(f"--safe: {text} would have to be executed")
    if kind != "library":
        for name in request.claims:
            raise GradcliError(f"--{name}: {text} says itself what its derivative is")
    if kind != "umbridge":
        refuse_config(text, request)
    return import_module(f"{__package__}.{kind}").open_address(text, request)


def refuse_config(text: str, request: Request) -> None:
    """Raise GradcliError where a config has no use."""
    if request.config is not None:
        raise GradcliError(f"--config: {text} takes none; UM-Bridge models do")
