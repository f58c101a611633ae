"""Checks of functions behind HTTP, in processes and in libraries: the command line's addresses."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import GradcliError, check_known
from ..program.claim import Arrays, CallError, Claim, GoneError
from ..program.target import Target, kind_of_address, open_address
from ..request import Request
from ..show.check_results import CheckReport
from .check import Check


def claim_opened(make: Callable[[Arrays], Claim], request: Request, at: Mapping[str, Any]) -> Claim:
    if request.order != 1:
        raise CallError("order=2 needs a function of Tensors; this one runs elsewhere")
    claim = make({name: np.asarray(x) for name, x in at.items()})
    claim.wrt = claim.wrt if request.wrt is None else list(request.wrt)
    return claim


def declared_address(text: str, at: Any, *, name: str | None = None, config: Any = None, **options: Any) -> Check:
    """Return the check of an address that a file declares, opened when it is first run. grad, vjp, jvp: in C."""
    declarations = {key: options.pop(key) for key in ("grad", "vjp", "jvp") if key in options}
    document = None if config is None else json.dumps(config)

    @functools.cache
    def opened() -> Callable[[Arrays], Claim]:
        return open_address(text, check.request._replace(**declarations))

    def make(inputs: Arrays) -> Claim:
        return opened()(inputs)

    opens = functools.partial(claim_opened, make)
    check = Check(make, at, opens=opens, name=name or text, config=document, **options)
    return check


def of_address(target: Target, request: Request) -> Check | CheckReport:
    """Return the check of what is at an address; a report when it cannot be reached. Raises GradcliError."""
    text = target.text
    if request.argv:
        raise GradcliError(f"{text} takes no arguments after --", hint="put them into cmd:")
    start = time.perf_counter()
    rng = np.random.default_rng(request.seed)
    own, outputs = sort_shapes(text, request.shapes)
    make = open_address(text, request._replace(shapes=outputs))
    try:
        claim = make({**request.values, **{name: rng.standard_normal(shape) for name, shape in own.items()}})
    except (CallError, GoneError) as error:
        return CheckReport(text, None, None, "error", time.perf_counter() - start, message=str(error))
    if not (claim.has_pull or claim.has_push):
        hint = f"add {getattr(claim, 'advice', '--grad')}"
        raise GradcliError(f"{claim.title}: a function of a library is checked against a derivative from it", hint=hint)
    if request.wrt is not None:
        check_known(request.wrt, claim.at, "--wrt")
    opens, asked = functools.partial(claim_opened, make), request._replace(grad=None, vjp=None, jvp=None)
    check = Check(make, {**request.values, **own}, opens=opens, request=asked, name=text, target=target)
    check.bounds_answers, check.opened = True, claim
    return check


def sort_shapes(text: str, shapes: Mapping[str, tuple[int, ...]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the shapes of inputs, and those of outputs, which only functions of a library are told."""
    if kind_of_address(text) != "library":
        return dict(shapes), {}
    from ..program.elsewhere.library import read_declaration, split_address

    outputs = {p.name for p in read_declaration(split_address(text)[1]).parameters if p.kind == "output"}
    own = {name: shape for name, shape in shapes.items() if name not in outputs}
    return own, {name: shape for name, shape in shapes.items() if name in outputs}
