"""`@gradcli.check` declares checks in files; `gradcli.check_gradient` runs one immediately."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar, Unpack, overload

from ..claims.claim import Arrays, Claim
from ..claims.open import open_address
from ..request import Request
from ..results.checks import CheckReport
from .check import REGISTRY, Check, claim_opened
from .claim_check import source_place
from .points import are_points

RUNNERS = {"gradcli", "_pytest", "pluggy", "importlib", "runpy"}
"""Packages whose frames do not belong to the code that declares a check."""


class Options(TypedDict, total=False):
    """The options of a declaration, with the types that `check` documents."""

    grad: Callable | str | None
    vjp: Callable | str | None
    jvp: Callable | str | None
    engine: str | None
    wrt: str | Sequence[str] | None
    name: str | None
    order: int
    samples: int
    rtol: float | None
    atol: float | None
    eps: float | None
    nondet_tol: float
    strict: bool
    seed: int
    search: int
    calls: int | None
    taylor: bool
    value_and_grad: bool
    elementwise: bool
    no_as_called: bool
    reference: Callable | None
    dtype: str | None
    device: str | None
    on: Mapping[str, Any] | None
    stochastic: Callable | str | None
    level: float | None
    draws: int | None


DECLARED_OPTIONS = set(Options.__annotations__)
F = TypeVar("F", bound=Callable | str)


@overload
def check(f: None = None, *, at: Any = None, **options: Unpack[Options]) -> Callable[[F], F]: ...


@overload
def check(f: F, *, at: Any = None, **options: Unpack[Options]) -> F: ...


def check(f: Callable | str | None = None, *, at: Any = None, **options: Any) -> Any:
    """Declare a check of a function's gradient; return the function unchanged.

    Use `@gradcli.check(at={"x": x0}, grad=f_grad)` as a decorator, or call `gradcli.check(f, at=...)`. `gradcli
    gradcheck FILE` and `pytest --gradcheck` run the check. Its options are those of the command line.

    f (Callable | str): the function. It may also be an address, as on the command line, such as "umbridge:URL" or
        "LIB.so:DECLARATION"; then grad, vjp and jvp are declarations in C.
    at (Any): the point, as arrays by the names of f's parameters. It may also be a list of points, shapes for random
        values, or a function of a numpy.random.Generator that returns a point.

    What is claimed. Without grad, vjp and jvp, it is the derivative of the engine that f uses.

    grad (Callable | str | None): the gradient, or its name in this file. It is called like f. It returns an array for
        one input, and a tuple or a dict by name for several, each of shape output.shape + input.shape.
    vjp (Callable | str | None): a backward pass, vjp(cotangent, *arrays), or vjp(*arrays, cotangent) if its other
        parameters have the names of f's. Complex outputs of complex inputs need it.
    jvp (Callable | str | None): a forward derivative, jvp(tangents, *arrays), where tangents is a tuple.
    engine (str | None): what differentiates f: torch, jax, autograd, or gradcli, which calls f with Tensors.
    value_and_grad (bool): f returns (value, gradient).
    elementwise (bool): f works element by element, and grad returns one derivative for each element of the output.
    reference (Callable | None): a function with whose derivative the claim is compared, instead of with values of f.
    stochastic (Callable | str | None): a Monte-Carlo estimator of the gradient, stochastic(*arrays, rng, n), which
        returns n samples. f(*arrays) returns the expectation; f(*arrays, rng, n) may return samples of it instead.
    level (float | None): the probability that a right estimator fails [1e-6].
    draws (int | None): the largest number of samples of an estimator [8388608].

    Where it is checked.

    wrt (str | Sequence[str] | None): the names of the inputs to check [all].
    order (int): 2 checks second derivatives [1].
    samples (int): the number of random points [1].
    seed (int): the seed of the first random point [0].
    search (int): the number of edge-case points to check as well [0].
    dtype (str | None): the type of the inputs: float32, float64 or complex128; with a reference, also bfloat16 and
        float16.
    device (str | None): cpu or cuda, for PyTorch and JAX.
    on (Mapping[str, Any] | None): the manifolds of inputs, such as {"T": "SE3"}, and of the output, by the name "out";
        see gradcli-manifolds(7).

    How it is checked and reported.

    calls (int | None): how often f may be called [no limit].
    strict (bool): relative differences below 1e-6 are wrong, too.
    rtol (float | None): a fixed relative tolerance instead of the estimated error.
    atol (float | None): a fixed absolute tolerance, as for rtol.
    eps (float | None): the step of finite differences, which then take the place of the estimate.
    nondet_tol (float): by how much two calls at the same point may differ [0].
    no_as_called (bool): call the derivative in one way only, without other memory layouts, types or unused outputs.
    taylor (bool): also report the Taylor remainder.
    name (str | None): the name of the check in reports.

    Only for an address: config (Any), the configuration of a UM-Bridge model.

    .. versionadded:: 0.1.0
    .. versionchanged:: 0.2.0
        Added elementwise, reference, stochastic, level, draws, device, dtype, on, strict and no_as_called. `at` may be
        a list.
    """
    file, line = place_of_declaration()
    if isinstance(f, str):
        refuse_unknown_options("check", options, {*DECLARED_OPTIONS, "config"})
        REGISTRY.append(declared_address(f, at, file=file, line=line, **options))
        return f
    refuse_unknown_options("check", options, DECLARED_OPTIONS)
    scope = frame_of_caller().f_globals

    def declare(function: Callable) -> Callable:
        place = source_place(function) if f is None else None
        here = place[1] if place is not None and place[0] == file else line
        REGISTRY.append(Check.of(function, at, file=file, line=here, scope=scope, declared=True, **options))
        return function

    return declare if f is None else declare(f)


def refuse_unknown_options(name: str, options: Mapping[str, Any], known: set[str]) -> None:
    """Raise TypeError if there are options that a function does not take."""
    for option in sorted(options.keys() - known):
        takes = f"it takes at, {', '.join(sorted(known))}"
        raise TypeError(f"{name}() got an unexpected argument {option!r}; {takes}")


def declared_address(text: str, at: Any, *, name: str | None = None, config: Any = None, **options: Any) -> Check:
    """Return the check of an address declared in a file; it is opened on the first run. grad, vjp, jvp: in C."""
    import json

    declarations = {key: options.pop(key) for key in ("grad", "vjp", "jvp") if key in options}
    document = None if config is None else json.dumps(config)
    opened: list[Callable[[Arrays], Claim]] = []

    def opens(request: Request, at: Mapping[str, Any]) -> Claim:
        if not opened:
            opened.append(open_address(text, request._replace(**declarations)))
        return claim_opened(opened[0], request, at)

    return Check.of(opens, at, name or text, opens=opens, declared=True, config=document, **options)


def frame_of_caller() -> Any:
    """Return the frame of the calling code outside this package."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("gradcli."):
        frame = frame.f_back
    return frame


def place_of_declaration() -> tuple[str, int]:
    """Return file and line of the module whose import declares a check, or else of the calling code."""
    frame = outer = frame_of_caller()
    while outer is not None and outer.f_globals.get("__name__", "").partition(".")[0] not in RUNNERS:
        if outer.f_code.co_name == "<module>":
            frame = outer
            break
        outer = outer.f_back
    return frame.f_code.co_filename, frame.f_lineno


def check_gradient(
    f: Callable,
    grad: Callable | None = None,
    at: Any = None,
    *,
    vjp: Callable | None = None,
    jvp: Callable | None = None,
    **options: Any,
) -> CheckReport:
    """Check a gradient and return the report.

    f and grad are called with plain ndarrays, positionally in the order of `at`. Without grad, vjp and jvp, the
    derivative of the engine that f uses is checked. `at` and the options are as in `check`.

    .. versionadded:: 0.1.0
    """
    refuse_unknown_options("check_gradient", options, DECLARED_OPTIONS)
    if at is not None and not callable(at) and not isinstance(at, Mapping) and not are_points(at):
        try:
            names = list(inspect.signature(f).parameters) or ["x"]
        except (TypeError, ValueError):
            names = ["x"]
        values = at if isinstance(at, tuple | list) and len(names) > 1 else (at,)
        at = dict(zip(names, values, strict=False))
    frame = frame_of_caller()
    file, line = source_place(f) or (frame.f_code.co_filename, frame.f_lineno)
    return Check.of(f, at, grad=grad, vjp=vjp, jvp=jvp, file=file, line=line, **options).run()
