"""Check the derivatives that a command has used, in the process that has them. Each use is a check."""

from __future__ import annotations

import contextlib
import inspect
import math
import pickle
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..check.check import Check, values_text
from ..check.judge import Place
from ..check.workers import in_processes, in_turn
from ..claims.adapters.framework import framework_call
from ..claims.claim import CallError, Claim, callable_name, failing_as
from ..claims.hand_written import HandWritten
from ..errors import lines_of_file
from ..lang.limits import Bound
from ..numeric.products import SAME_VALUE
from ..request import ADAPTED, Request
from ..results.checks import CheckReport
from ..results.studies import WatchedDerivative
from ..user.tracebacks import users_path
from .watch import RANK

QUICK_CALLS, FEWEST_CALLS = 600, 10
"""A function is called as often as the verdict needs if its time allows more than QUICK_CALLS calls (as FAIL_CALLS), or
else as often as its time allows, but at least FEWEST_CALLS times (a choice)."""
GRADIENT_STEP = 1e-3  # relative to the element: rounding and truncation errors are then about 1e-12


class UseCheck(Check):
    knows_no_tensors = False

    def __init__(self, derivative: Any, use: Any, request: Request, passed: Callable[[Any], bool]):
        role = f"{derivative.role}: {derivative.name}"
        request = request if use.kind in ADAPTED else request._replace(no_as_called=True)
        super().__init__(
            use.claim, {}, request=request, name=role, file=derivative.file, line=derivative.line, opens=self.open
        )
        self.use, self.passed, self.seconds = use, passed, math.inf

    def point(self, rng: np.random.Generator, place: int = 0) -> dict[str, Any]:
        return {}

    def place(self, seed: int) -> Place:
        """Return where the derivative is defined, without a command line, since none repeats its use."""
        return Place(self.name, self.file, self.line)

    def open(self, request: Request, at: Mapping[str, Any]) -> Claim:
        use = self.use
        if use.kind in ADAPTED:
            return drawn_claim(use, self.name) if use.drawn else framework_claim(use, self.name)
        claim = solver_claim(use, use.function is not None and self.passed(use.first))
        start = time.monotonic()
        claim.doubt = change_since(use)
        claim.budget.allowed = calls_within(self.seconds, time.monotonic() - start)
        return claim


def calls_within(seconds: float, each: float) -> int | None:
    """Return how often a slow function may be called for a verdict in time; None for a quick one."""
    calls = 0.8 * seconds / each
    return None if calls > QUICK_CALLS else max(int(calls), FEWEST_CALLS)


def judge_uses(derivatives: Sequence[Any], settings: Mapping[str, Any], seconds: float) -> Iterator[bytes]:
    """Check uses, and after each yield the pickled number of its derivative with the result for that so far.

    Check each derivative once before checking any a second time, so that every one has a result if time runs out.
    Second derivatives come last. They are compared with first derivatives that passed, or else with values of f.
    seconds: total time limit.
    """
    if "torch" in sys.modules:
        load_torch(sys.modules["torch"])
    end = time.monotonic() + seconds
    right: set[int] = set()
    request = Request(calls=settings["calls"])
    noted = [(number, d, d.uses(settings["points"])) for number, d in enumerate(derivatives)]
    reports: dict[int, list[tuple[Any, CheckReport]]] = {number: [] for number, _, _ in noted}
    for number, d, uses in noted:
        if not uses and d.trouble:
            yield pickle.dumps((number, not_judged(d)))
    for second in (False, True):
        some = [(number, d, uses) for number, d, uses in noted if uses and (uses[0].base is not None) is second]
        turns = [(turn, number, d, use) for number, d, uses in some for turn, use in enumerate(uses)]
        turns.sort(key=lambda item: item[:2])
        checks = [UseCheck(d, use, request, lambda first: id(first) in right) for _, _, d, use in turns]
        judged = run_in_time(checks, settings["timeout"], end)
        for (_, number, derivative, use), report in zip(turns, judged, strict=True):
            reports[number].append((use, report))
            watched = worst_of(derivative, reports[number])
            (right.add if watched.report.verdict == "pass" else right.discard)(id(derivative))
            yield pickle.dumps((number, watched))


def not_judged(derivative: Any) -> WatchedDerivative:
    """Return the row of a rule that was seen, but whose calls could not be recorded."""
    name, message = f"{derivative.role}: {derivative.name}", f"seen, but not checked: {derivative.trouble}"
    report = CheckReport(name, derivative.file, derivative.line, "inconclusive", 0.0, message=message)
    return WatchedDerivative(derivative.role, derivative.name, 0, derivative.calls, report)


def load_torch(torch: Any) -> None:
    """Load what PyTorch's first gradient loads, once for all processes that run checks."""
    torch.set_num_threads(1)  # the other threads did not survive the fork
    x = torch.ones(1, requires_grad=True)
    torch.autograd.grad(x.sum(), x)


def run_in_time(checks: Sequence[UseCheck], timeout: float, end: float) -> Iterator[CheckReport]:
    """Yield the reports of checks in order, each within its time limit, also of those for which no time is left."""
    for check in checks:
        check.bound = Bound(timeout)
        check.seconds = min(timeout, (end - time.monotonic()) / len(checks))
    apart = "jax" not in sys.modules
    reports = in_processes(checks, 1, None) if apart and checks else in_turn(checks, None)
    late = "not checked: time limit reached (as long as the run took, plus 60 s)"
    for check in checks:
        report = CheckReport(check.name, check.file, check.line, "inconclusive", 0.0, message=late)
        yield next(reports)[1] if time.monotonic() < end else report


def worst_of(derivative: Any, reports: Sequence[tuple[Any, CheckReport]]) -> WatchedDerivative:
    """Merge the reports at all points of one derivative; those for which no time was left count last."""
    judged = [pair for pair in reports if pair[1].seconds > 0]
    use, report = min(judged or reports, key=lambda pair: RANK.index(pair[1].verdict))
    notes, points = report.notes, len(judged)
    if report.verdict == "fail":
        place = "at a random point" if use.drawn else f"at {values_text(point_of(use))}"
        notes = (f"{place} (call {use.number})", *notes)
    if report.verdict == "pass":  # the result of all points together
        passed = [r for _, r in reports if r.verdict == "pass"]
        undecided = [r for _, r in reports if r.verdict != "pass"]
        report, points = max(passed, key=lambda r: r.resolution), len(passed)
        if undecided:
            counted = f"{len(undecided)} of {len(reports)} points undecided"
            notes = (*notes, f"{counted}: {undecided[0].message or undecided[0].verdict}")
    seconds = sum(r.seconds for _, r in reports)
    file, line = report.file, report.line
    if inspect.isclass(use.claim):
        line = line_of_class(derivative.name, file, line)
    here = users_path(file) if file else file
    if report.verdict == "error":
        report = replace(report, verdict="inconclusive", message=f"seen, but not checked: {report.message}")
    report = replace(report, notes=notes, seconds=seconds, file=here, line=line, error=None)
    return WatchedDerivative(derivative.role, derivative.name, points, derivative.calls, report)


def line_of_class(name: str, file: str | None, line: int | None) -> int | None:
    """Return the line of a class above one of its methods, which inspect does not find once a script has ended."""
    above = lines_of_file(file)[: line or 0] if file else []
    heads = (n for n in range(len(above), 0, -1) if re.match(rf"\s*class {re.escape(name)}\b", above[n - 1]))
    return next(heads, line)


def point_of(use: Any) -> dict[str, Any]:
    """Return the point of a use, by the names of the function's parameters."""
    if use.kind in ADAPTED:
        return {name: x for name, x in arguments_of(use).items() if hasattr(x, "shape") or isinstance(x, float)}
    function = use.function if use.function is not None else use.base
    xs = points_of(use)
    count, first = len(xs), use.place.start if isinstance(use.place, slice) else use.place
    names = [p.name for p in parameters_of(function)][first : first + count]
    if len(names) < count:
        names = [f"p[{i}]" for i in range(count)] if isinstance(use.place, slice) else ["x"]
    return dict(zip(names, xs, strict=True))


def points_of(use: Any) -> Sequence[Any]:
    return use.x if isinstance(use.place, slice) else (use.x,)


MOST_DIAGONAL = 200  # elements up to which an elementwise derivative is a diagonal matrix, not a product: a choice


def solver_claim(use: Any, first_is_right: bool) -> HandWritten:
    """Return the claim for a use of a derivative that was passed to a solver.

    A second derivative differentiates the first derivative if that is right, or else the numeric gradient of f.
    """
    point = point_of(use)
    at = {name: np.asarray(x, float) if np.asarray(x).dtype.kind in "biu" else x for name, x in point.items()}
    weights = np.asarray(use.args[1]) if use.kind == "weighted" else None
    each = use.kind == "each" and np.ndim(use.x) > 0

    def value(*xs: Any) -> Any:
        return use.base(*with_point(use, function_arguments(use), xs))

    def f(*xs: Any) -> Any:
        if use.base is not None and not first_is_right:
            return numeric_gradient(lambda x: value(x) if weights is None else np.dot(weights, value(x)), xs[0], each)
        if use.base is not None:
            value(*xs)  # a first derivative may use what f has cached
        result = use.function(*with_point(use, function_arguments(use), xs))
        return result if weights is None else dense(result, xs[0]).reshape(-1, np.size(xs[0])).T @ weights.reshape(-1)

    def with_value(*xs: Any) -> tuple[Any, Any]:
        out = f(*xs)  # as solvers do, since a derivative may use what f has cached
        return out, use.claim(*with_point(use, use.args, xs))

    def derivative(*xs: Any) -> Any:
        out, whole = with_value(*xs)
        if use.kind == "tuple":
            return dict(zip(at, map(np.asarray, whole), strict=False))
        if use.kind == "columns":  # one Jacobian per column; in a tuple, that for unknown parameters comes second
            parts = np.asarray(whole[0] if isinstance(whole, tuple) else whole)
            return np.einsum("ikj,jl->ijkl", parts, np.eye(parts.shape[-1]))
        if isinstance(use.place, slice):
            return {name: np.asarray(whole)[..., i] for i, name in enumerate(at)}
        return np.diag(np.ravel(whole)) if each else as_jacobian(dense(whole, xs[0]), out, xs[0], use.columns)

    def product(tangents: tuple, x: Any) -> Any:
        if each:
            return with_value(x)[1] * tangents[0]
        f(x)
        return use.claim(*with_point(use, (x, tangents[0], *use.args[2:]), (x,)))

    def forward(tangents: tuple, x: Any) -> Any:
        out, operator = with_value(x)
        return np.reshape(operator.matvec(np.ravel(tangents[0])), np.shape(out))

    def backward(cotangent: Any, x: Any) -> Any:
        _, operator = with_value(x)
        return np.reshape(operator.rmatvec(np.ravel(cotangent)), np.shape(x))

    f.__name__, derivative.__name__ = callable_name(use.function or use.base), callable_name(use.claim)
    if use.kind == "whole" and has_both_products(use.claimed):
        claim = HandWritten(f, at, jvp=forward, vjp=backward)
    else:
        is_product = use.kind == "product" or (each and np.size(use.x) > MOST_DIAGONAL)
        claim = HandWritten(f, at, **({"jvp": product} if is_product else {"grad": derivative}))
    claim.constants = constants_of(use, at)
    return claim


def constants_of(use: Any, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function other than its point, by the names of its parameters."""
    given = zip(parameters_of(use.function or use.base), function_arguments(use), strict=False)
    return {p.name: x for p, x in given if p.name not in at}


def parameters_of(function: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def function_arguments(use: Any) -> tuple[Any, ...]:
    """Return the arguments for f from a call of its derivative, without the vector that a product also takes."""
    return (use.args[0], *use.args[2:]) if use.kind in ("product", "weighted") else use.args


def with_point(use: Any, args: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
    """Return the arguments of a call with the point replaced by a copy of xs, which the function may change."""
    fresh = [np.array(x) if np.ndim(x) else x for x in xs]
    if isinstance(use.place, slice):
        return [*args[: use.place.start], *fresh]
    return [*args[: use.place], fresh[0], *args[use.place + 1 :]]


def dense(x: Any, point: Any) -> np.ndarray:
    """Return a derivative as an array, also from a sparse matrix or a linear operator of SciPy."""
    if hasattr(x, "toarray"):
        return x.toarray()
    return x @ np.eye(np.size(point)) if hasattr(x, "matmat") else np.asarray(x)


def has_both_products(x: Any) -> bool:
    """Report whether a derivative is an operator, not a matrix, with products from both sides."""
    if not hasattr(x, "rmatvec") or hasattr(x, "toarray"):
        return False
    try:
        x.rmatvec(np.zeros(x.shape[0]))
    except NotImplementedError:
        return False
    return True


def as_jacobian(raw: np.ndarray, out: Any, x: Any, columns: bool) -> np.ndarray:
    """Reshape a Jacobian to output.shape + x.shape if only axes of length 1 differ, as solvers allow."""
    raw, wanted = raw.T if columns else raw, np.shape(out) + np.shape(x)
    same = [n for n in raw.shape if n != 1] == [n for n in wanted if n != 1]
    return raw.reshape(wanted) if same else raw


def numeric_gradient(f: Callable[[Any], Any], x: np.ndarray, each: bool = False) -> np.ndarray:
    """Return the gradient by central differences with one step of Richardson extrapolation.

    each: whether f is applied element by element, so that all elements may move together.
    """
    steps = GRADIENT_STEP * np.maximum(np.abs(x), 0.1)
    directions = [steps] if each else np.where(np.eye(np.size(x), dtype=bool), steps.reshape(-1), 0.0)

    def difference(step: np.ndarray, part: float) -> Any:
        h = part * np.reshape(step, np.shape(x))
        return (f(x + h) - f(x - h)) / (2 * part)

    values = [(4 * difference(step, 0.5) - difference(step, 1.0)) / 3 for step in directions]
    return np.reshape(values, np.shape(x)) / steps


def change_since(use: Any) -> str:
    """Describe how the function or the derivative differs at the point from its result in the run; "" if not at all."""
    xs = points_of(use)
    calls = (
        ("function", use.base or use.function, function_arguments(use), use.value),
        ("derivative", use.claim, use.args, use.claimed),
    )
    for what, function, args, then in calls:
        with failing_as(callable_name(function)):
            now = function(*with_point(use, args, xs))
        if then is not None and not is_close(then, now):
            return describe_change(what, then, now)
    return ""


def is_close(then: Any, now: Any, room: float = SAME_VALUE) -> bool:
    """Report whether two results are the same. room: how much they may differ, relative to the largest element."""
    try:
        a, b = (np.asarray(x.toarray() if hasattr(x, "toarray") else x, complex) for x in (then, now))
    except (TypeError, ValueError):  # a linear operator
        return True
    atol = room * np.abs(a).max(initial=0.0)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=room, atol=atol, equal_nan=True))


def describe_change(what: str, then: Any, now: Any) -> str:
    return f"changed since the run: at this point the {what} gave {brief(then)} then and gives {brief(now)} now"


def brief(x: Any) -> str:
    return np.array2string(np.asarray(x), precision=6, threshold=6, edgeitems=2)


def arguments_of(use: Any) -> dict[str, Any]:
    if hasattr(use.function, "_schema"):  # an operator of torch.library
        names = [argument.name for argument in use.function._schema.arguments]
    else:
        parameters = parameters_of(getattr(use.claim, "forward", use.claim))
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if use.kind == "torch":
            from ..claims.adapters.torch import has_setup

            names = names if has_setup(use.claim) else names[1:]  # without the context
    names += [f"argument {i}" for i in range(len(names), len(use.args))]
    return dict(zip(names, use.args, strict=False))


def drawn_claim(use: Any, title: str) -> Claim:
    """Return a function at random arguments of the shapes in the run, between 0 and 1 if normal ones give no value."""
    rng = np.random.default_rng(0)

    def at_point(draw: Callable[[Any], Any]) -> Claim:
        claim = framework_claim(use._replace(args=draw_arguments(use, draw)), title)
        claim.notes = (*claim.notes, DRAWN)
        return claim

    with contextlib.suppress(CallError):
        claim = at_point(rng.standard_normal)
        if np.isfinite(claim.value_here()).all():
            return claim
    return at_point(rng.random)


DRAWN = "no values in the run (jit, vmap, scan, torch.compile); checked at a random point of the same shapes"


def draw_arguments(use: Any, draw: Callable[[Any], Any]) -> Any:
    def value(x: Any) -> Any:
        if type(x).__name__ != "Drawn":
            return x
        dtype = np.dtype("float32" if x.dtype == "bfloat16" else x.dtype)
        return np.asarray(draw(x.shape) if dtype.kind in "fc" else np.ones(x.shape), dtype)

    if use.kind == "jax":
        import jax

        return jax.tree_util.tree_map(value, use.args)
    return list(map(value, use.args))


def framework_claim(use: Any, title: str) -> Claim:
    """Return a function with a custom derivative, at the arguments of a call, as its framework runs it."""
    given = arguments_of(use)
    wrt = [name for name, wanted in zip(given, use.wrt, strict=False) if wanted]
    claim = framework_call(use.kind, use.function, given, title, wrt=wrt)
    claim.seen = given, use.seen or ()
    then = [np.asarray(x.detach() if hasattr(x, "detach") else x) for x in use.value or ()]
    if then and not any(x.dtype.kind == "c" for x in then):
        value = np.concatenate([x.reshape(-1).astype(float) for x in then if x.dtype.kind == "f"])
        unit = max(np.finfo(x.dtype).eps for x in then if x.dtype.kind == "f")
        now = claim.value_here().reshape(-1)
        if now.shape == value.shape and not is_close(value, now, 1e3 * unit):
            claim.doubt = describe_change("function", value, now)
    return claim
