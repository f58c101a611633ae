"""A check to run: a function, its hand-written derivative if it has one, the points, and the request."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import random
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..claims.claim import Arrays, CallError, Claim, Progress, callable_name, second_order
from ..claims.hand_written import HandWritten, claim_by_hand, own_engine, value_and_gradient
from ..errors import GradcliError, did_you_mean, text_of
from ..lang.limits import Bound, enforce
from ..program.arguments import by_name, takes_random
from ..program.target import Target
from ..request import SHORT_TYPES, Request
from ..results.checks import CheckReport
from ..user.frameworks import FRAMEWORKS, cuts_graph, engine_of, framework_of
from .claim_check import Place, observe, run_check
from .complaints import complaints
from .points import MOST_SHOWN, are_points, draw_point, is_random, points_of

OWN_ENGINE = (
    "this is a check of the engine that the file defines or imports; for gradcli's engine, pass --engine gradcli"
)
BY_HAND = "to check a hand-written gradient, pass --grad NAME (grad= in a declaration); f then gets plain arrays"
WHOLE_NUMBERS = "for integers, pass --arg NAME='[2, 0]', or annotate the parameter with int or NDArray[np.int64]"
LEAST_SPARSE = 2000  # with fewer elements of inputs, a sparse Jacobian is small enough to be made dense: a choice


@contextlib.contextmanager
def settings_kept() -> Iterator[None]:
    """Restore what a checked function may change: working directory, streams, warnings, random state."""
    numbers, more, folder = np.random.get_state(), random.getstate(), ""
    with contextlib.suppress(OSError):  # a deleted folder
        folder = os.getcwd()
    with (
        contextlib.redirect_stdout(sys.stdout),
        contextlib.redirect_stderr(sys.stderr),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        try:
            yield
        finally:
            np.random.set_state(numbers)
            random.setstate(more)
            with contextlib.suppress(OSError):
                os.chdir(folder)


@dataclass(frozen=True, eq=False)
class Check:
    """One check. at: arrays by name, a function of a numpy.random.Generator that returns them, or shapes by name.

    origin: what the user wrote, if f wraps that. source: its text, if it is a formula. opens: makes the claim at a
    point, instead of f; what it opens is closed after the check by `opened`. is_script: whether a script is run for
    every value. reference: the check of the function whose derivative this one is compared with. scope: where the
    functions that a declaration names are looked up. declared: whether importing the file declares the check. target:
    what a command line names. replay: the command that repeats it, without options. surroundings: the search path and
    modules of its file. bound: the time limit, of each answer instead of the whole check if bounds_answers. saved:
    points to check as well.
    """

    f: Callable
    at: Any
    request: Request = field(default_factory=Request)
    name: Any = ""  # a complaint if it is not a string
    file: str | None = None
    line: int | None = None
    origin: Any = None
    source: str | None = None
    opens: Callable[[Request, Mapping[str, Any]], Claim] | None = None
    is_script: bool = False
    reference: Check | None = None
    scope: Mapping[str, Any] = field(default_factory=dict)
    declared: bool = False
    target: Target | None = None
    replay: str | None = None
    surroundings: Any = field(default_factory=contextlib.nullcontext)
    bound: Bound | None = None
    bounds_answers: bool = False
    saved: Sequence[Mapping[str, Any]] = ()
    progress: Progress = field(default_factory=Progress)
    opened: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @classmethod
    def of(cls, f: Callable, at: Any, name: Any = None, request: Request | None = None, **options: Any) -> Check:
        """Return a check. options: other fields of a Check, and those of its request unless that is given, by name."""
        fields = {key: options.pop(key) for key in [*options] if key not in Request._fields}
        request = request or Request(**options)
        if isinstance(request.wrt, str):
            request = request._replace(wrt=[request.wrt])
        if request.reference is not None:
            fields["reference"] = reference_check(request.reference, request.engine)
        return cls(f, at, request, callable_name(f) if name in (None, "") else name, origin=f, **fields)

    @classmethod
    def of_target(cls, target: Target, f: Callable, at: Any, request: Request, /, **fields: Any) -> Check:
        """Return the check of a target on a command line. fields: other fields of a Check."""
        fields = {"name": target.text, "origin": f, **fields}
        fields |= {"replay": replay_command(target, request), "surroundings": surroundings_of(target), "target": target}
        return cls(f, at, request, **fields)

    def point(self, rng: np.random.Generator, place: int = 0) -> dict[str, Any]:
        """Return the inputs by name at one of the points; inputs given as shapes are random. Raises CallError."""
        return draw_point(self.f, self.at, self.request, self.manifolds, rng, place)

    @property
    def random(self) -> bool:
        return any(map(is_random, points_of(self.at)))

    @property
    def sample_count(self) -> int:
        """The number of points to check at: one if they would not differ."""
        count = len(points_of(self.at))
        return count if count > 1 else self.request.samples if self.random else 1

    def claim(self, at: Mapping[str, Any]) -> Claim:
        """Return the claim at a point, on manifolds if the request names some."""
        claim = self.plain_claim(at)
        if not self.manifolds:
            return claim
        from ..claims.on_manifolds import on_manifolds

        return on_manifolds(claim, self.manifolds)

    def plain_claim(self, at: Mapping[str, Any]) -> Claim:
        request, f, claims = self.request, self.f, {way: self.named(x) for way, x in self.request.claims.items()}
        if request.stochastic is not None:
            from ..claims.estimators import open_objective

            return open_objective(f, as_in_signature(f, at), request, self.engine, self.name)
        if self.opens is not None:
            claim = self.opens(request, at)
            if claim.connection is not None:
                self.opened.callback(claim.connection.close)
            return claim
        at = as_in_signature(f, at)
        if request.value_and_grad:
            f, claims["grad"] = value_and_gradient(in_order(f, at))
        objects = not claims and request.engine is None and self.engine is None and own_engine(f) is not None
        if objects:
            from ..claims.object_engine import with_objects

            f, claims["grad"] = with_objects(in_order(f, at), f, self.name)
        if claims:
            if request.order != 1:
                raise CallError("order=2 cannot be combined with a hand-written derivative")
            claims = {way: in_order(x, at, int(way != "grad")) for way, x in claims.items()}
            by_hand = claim_by_hand(in_order(f, at), at, claims, request.wrt, request.elementwise)
            if objects:
                by_hand.notes = (*by_hand.notes, OWN_ENGINE)
            size = sum(by_hand.at[name].size for name in by_hand.wrt if name in by_hand.at)
            if request.grad is None or size < LEAST_SPARSE:
                return by_hand
            from ..claims.sparse_claim import sparse_claim

            return sparse_claim(by_hand)
        engine = self.engine
        if engine is not None:
            from ..claims.adapters.framework import framework_call

            refuse_foreign(framework_of(self.origin), self.name, engine)
            try:
                call = framework_call(engine, self.origin, at, self.name, wrt=request.wrt, dtype=self.dtype)
            except GradcliError as error:
                raise error if isinstance(error, CallError) else CallError(error.message) from error
            return call if request.order == 1 else second_order(call, request.seed)
        refuse_foreign(framework_of(self.origin), self.name)
        from ..claims.recorded import Traced
        from ..program.meaning import means_arrays
        from ..tape.modes import methods_of_arrays

        function = by_name(self.f, at)
        arrays = means_arrays(self.origin, self.name, lambda convert: function(*map(convert, at.values())))
        claim = Traced(methods_of_arrays(arrays)(function), at, wrt=request.wrt, title=self.name)
        return claim if request.order == 1 else second_order(claim, request.seed)

    @functools.cached_property
    def manifolds(self) -> Mapping[str, Any]:
        """The manifolds of inputs and output, by name."""
        if not self.request.on:
            return {}
        from ..manifolds.named import manifolds_of

        return manifolds_of(self.request.on)

    def known(self, claim: Any) -> Any:
        """Return a claim, or the function of the file that it names; None if there is none."""
        return (self.scope or {}).get(claim) if isinstance(claim, str) else claim

    def named(self, claim: Any) -> Any:
        """Return a function that a declaration names. Raises CallError if the file has no function of that name."""
        if not isinstance(claim, str):
            return claim
        function = self.scope.get(claim)
        if not callable(function):
            names = [name for name, x in self.scope.items() if callable(x) and not name.startswith("_")]
            raise CallError(f"{self.file} has no function '{claim}'", did_you_mean(claim, names))
        return function

    def run(self) -> CheckReport:
        """Run the check. The verdict becomes "accepted" if the project accepts all findings."""
        report = self.run_samples()
        project = self.request.project
        note = "" if project is None else project.accepts(report)
        return observe(report, {"project": "accepts the findings"}, notes=(*report.notes, note)) if note else report

    def run_samples(self) -> CheckReport:
        """Check all samples with the file's search path and modules; return the first fail, else the worst report."""
        problem = next(complaints(self), None)
        if problem is not None:
            return self.error(problem)
        start = time.perf_counter()
        with self.surroundings, settings_kept():
            try:
                device = self.request.device and self.adapter.on_device(self.request.device)
                with enforce(self.bound), device or contextlib.nullcontext():
                    report = self.worst()
                    compared = self.reference is not None or self.request.stochastic is not None
                    if (self.request.search or self.saved) and not compared and report.verdict != "error":
                        from .search import search

                        report = search(self, report, self.request.search, self.saved)
                    return self.with_patch(report) if self.request.repair is not None else report
            except GradcliError as error:
                return self.error(error.message, time.perf_counter() - start)
            finally:
                self.opened.close()

    def with_patch(self, report: CheckReport) -> CheckReport:
        """Add to the report of a fail or error an edit of the derivative with which the check passes, if any."""
        if report.verdict not in ("fail", "error") or self.reference is not None or self.request.order != 1:
            return report
        from ..repair.search import find_patch, remembering

        limits = self.request.repair
        plain = replace(self, request=self.request._replace(repair=None, search=0, taylor=False, show="worst"))
        once = replace(plain, f=remembering(self.f))
        for k in range(self.sample_count):
            drawn = self.point(np.random.default_rng(self.request.seed + k), k)
            at = drawn if report.found is None else dict(report.found.at)
            try:
                patch = find_patch(once.claim(at), self.origin, report, functools.partial(plain.at_inputs, at), limits)
            except GradcliError as error:
                if report.verdict == "error":
                    return report
                hint = f" ({error.hint})" if error.hint else ""
                return replace(report, no_patch=f"{error.message}{hint}")
            if patch is not None:
                return replace(report, patch=patch)
        return report

    def at_inputs(self, here: Mapping[str, Any], other: Mapping[str, np.ndarray] | None) -> CheckReport:
        """Return the report at the inputs `here` (other is None), or at others, if these are plain arrays."""
        if other is None:
            return replace(self, at=dict(here)).worst()
        if set(other) != set(here):
            return self.error("the inputs are nested")
        return replace(self, at={name: x if x.ndim else x.item() for name, x in other.items()}).worst()

    def error(self, message: str, seconds: float = 0.0) -> CheckReport:
        return CheckReport(self.name, self.file, self.line, "error", seconds, message=message)

    def worst(self) -> CheckReport:
        """Return the report of the first sample that fails, else the worst report."""
        reports = []
        for k in range(self.sample_count):
            report = self.run_one(self.request.seed + k)
            if are_points(self.at) and not report.passed:
                report = replace(report, notes=(*report.notes, f"at point {k + 1} of {len(self.at)}"))
            if report.verdict == "fail":
                return report
            reports.append(report)
        worst = min(reports, key=lambda report: ["error", "inconclusive", "pass"].index(report.verdict))
        if len(reports) > 1 and worst.verdict == "pass":
            seconds = sum(report.seconds for report in reports)
            return replace(worst, notes=(*worst.notes, f"checked at {len(reports)} random points"), seconds=seconds)
        return worst

    def run_one(self, seed: int) -> CheckReport:
        calls = self.request.calls and max(self.request.calls // self.sample_count, 1)
        request = self.request._replace(seed=seed, calls=calls)
        drawn: dict[str, Any] = {}

        def make() -> Claim:
            drawn.update(self.point(np.random.default_rng(seed), seed - self.request.seed))
            if self.reference is not None:
                if request.dtype == "bfloat16" and (request.claims or self.engine is None):
                    raise CallError("NumPy has no bfloat16", "use --dtype float16 or float32")
                drawn.update({name: rounded_to(x, request.dtype) for name, x in drawn.items()})
            return self.claim(drawn)

        compare: Callable[..., CheckReport] | None = None
        blame = request.stochastic is None
        if self.reference is not None:
            from .reference import check_by_reference, rounded_to

            compare = functools.partial(check_by_reference, opens=functools.partial(self.open_reference, drawn))
        elif request.stochastic is not None:
            compare = self.estimator_check(drawn)
        elif (random_one := takes_random(map(self.known, request.claims.values()), self.f)) is not None:
            from .random_claim import leave_random

            compare = functools.partial(leave_random, function=random_one[0], name=random_one[1])
        report = run_check(make, self.place(seed), request, self.progress, blame, compare=compare)
        if (request.digits is not None or request.symbolic) and drawn:
            from .cross_checks import with_cross_checks

            report = with_cross_checks(report, self.claim(drawn), request)
        if report.verdict == "error" and report.error is not None and self.knows_no_tensors:
            report = replace(report, hint=BY_HAND)
        if isinstance(report.error, IndexError) and "must be of integer" in str(report.error):
            report = replace(report, hint=WHOLE_NUMBERS)
        wrong = report.verdict in ("fail", "inconclusive")  # a rounded copy may hide the numeric derivative
        if wrong and not (report.hint or self.request.claims or compare):
            from ..explain.surrogate import CUT_OFF, with_surrogate

            if self.engine is not None and request.order == 1 and request.calls is None:
                report = with_surrogate(report, functools.partial(self.claim, drawn))
            if not report.hint and cuts_graph(self.f):
                report = replace(report, hint=CUT_OFF)
        return report

    def estimator_check(self, drawn: Mapping[str, Any]) -> Callable[..., CheckReport]:
        """Return the function that checks the estimator at a point, to be called once the point is drawn."""

        def check(claim: Claim, request: Request, report: Callable[..., CheckReport]) -> CheckReport:
            from .stochastic import check_estimator

            given = as_in_signature(self.f, drawn)
            return check_estimator(claim, request, report, self.estimator, given, self.estimator is self.f)

        return check

    @property
    def estimator(self) -> Callable:
        """The estimator of a gradient that is checked. Raises CallError if the file has no function of that name."""
        return self.named(self.request.stochastic)

    def open_reference(self, at: Mapping[str, Any], dtype: str | None) -> Claim:
        """Return the reference's derivative in a type, or in float64; values alone if nothing differentiates it.

        at: the inputs of this check, passed to the reference by name if it has these names, else by position.
        """
        from .reference import rounded_to

        assert self.reference is not None
        check = replace(self.reference, request=self.reference.request._replace(dtype=dtype))
        parameters, weights = check.adapter.signature(check.f, check.name) or ((), at)
        names = [*(p.name for p in parameters), *weights]
        given = at if set(at) <= set(names) else dict(zip(names, at.values(), strict=False))
        given = {name: rounded_to(x, dtype) for name, x in given.items()}
        claim = check.claim(given)
        if check.request.claims or check.engine is not None:
            return claim
        try:
            claim.pull(claim.at, np.zeros_like(claim.value_here()))
            return claim
        except CallError:  # gradcli's engine cannot differentiate the function
            return HandWritten(check.f, given)

    @property
    def dtype(self) -> str | None:
        """The type in which a framework computes, if it has fewer digits than float64."""
        return self.request.dtype if self.request.dtype in ("float32", *SHORT_TYPES) else None

    @property
    def engine(self) -> str | None:
        return engine_of(self.origin, self.request.engine)

    @property
    def adapter(self) -> Any:
        from ..claims.adapters.framework import FrameworkCall, adapter_of

        return adapter_of(self.engine) if self.engine else FrameworkCall

    @property
    def knows_no_tensors(self) -> bool:
        """Whether the engine calls a function whose file imports nothing from gradcli."""
        by_hand = self.request.value_and_grad or self.request.claims or self.request.stochastic is not None
        names = getattr(self.origin, "__globals__", None)
        if by_hand or names is None or self.engine is not None:
            return False
        homes = (getattr(x, "__module__", None) or getattr(x, "__name__", None) or "" for x in names.values())
        return not any(str(home).partition(".")[0] == "gradcli" for home in homes)

    @property
    def command(self) -> str | None:
        """The command line that repeats the check, without the seed and arguments; None if nothing does."""
        if self.replay is None and self.declared and self.file and os.path.isfile(self.file):
            return f"gradcli gradcheck {shlex.quote(str(self.file))} -k {shlex.quote(self.name)}"
        return self.replay

    def replay_at(self, at: Mapping[str, Any]) -> str:
        """Return the command line that checks the target at a point that nobody has typed."""
        assert self.target is not None
        return replay_command(self.target, self.request._replace(values=at, typed={}))

    def place(self, seed: int) -> Place:
        """Return where the check was declared, and the command line that repeats it."""
        claims = tuple(filter(callable, [*self.request.claims.values(), self.request.stochastic]))
        if (replay := self.command) is not None:
            seed = seed if self.random else self.request.seed  # points that are not drawn are all checked again
            replay += f" --seed {seed}" if self.random or seed else ""
            replay += f" -- {shlex.join(self.request.argv)}" if self.request.argv else ""
        return Place(self.name, self.file, self.line, replay, claims, self.origin)


REGISTRY: list[Check] = []  # all checks declared in this process, in order


def reference_check(function: Any, engine: str | None, title: str | None = None) -> Check:
    """Return the check of a reference function, with the derivative from its own declaration, if any."""
    own = next((c.request for c in REGISTRY if c.f is function), Request())
    asked = Request(engine=engine, value_and_grad=own.value_and_grad, **own.claims)
    return Check(function, None, asked, title or callable_name(function), origin=function)


def claim_opened(make: Callable[[Arrays], Claim], request: Request, at: Mapping[str, Any]) -> Claim:
    """Return the claim that an address makes at a point."""
    if request.order != 1:
        raise CallError("order=2 needs a Python function of Tensors; this one does not run in this process")
    claim = make({name: np.asarray(x) for name, x in at.items()})
    claim.wrt = claim.wrt if request.wrt is None else list(request.wrt)
    return claim


def as_in_signature(f: Callable, at: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return values in the order of a function's parameters if it has parameters of all these names."""
    try:
        order = inspect.signature(f).parameters
    except (TypeError, ValueError):
        return at
    return {name: at[name] for name in order if name in at} if order.keys() >= at.keys() else at


def in_order(function: Callable, at: Mapping[str, Any], first: int = 0) -> Callable:
    """Return a function that takes values in the order of `at`; a framework's function is returned unchanged."""
    return function if engine_of(function, None) else by_name(function, at, first)


SKIPS = {("unittest.case", "SkipTest"), ("builtins", "Skipped")}
"""The exceptions with which a file asks to be skipped; pytest.skip raises the second."""


def is_skip(error: BaseException | None) -> bool:
    return any((kind.__module__, kind.__name__) in SKIPS for kind in type(error).__mro__)


def error_report(name: str, file: str | None, start: float, error: GradcliError) -> CheckReport:
    """Return the report on a target that raised, or that asks to be skipped. start: when the attempt began."""
    seconds = time.perf_counter() - start
    if is_skip(error.cause):
        return CheckReport(name, file, None, "skipped", seconds, message=text_of(error.cause) or "no reason was given")
    return CheckReport(name, file, None, "error", seconds, message=error.message, hint=error.hint)


def refuse_foreign(framework: str | None, name: str, engine: str = "gradcli") -> None:
    """Raise CallError for code of another framework: the engine would compute its values but never run its rules."""
    if framework is not None and framework != engine:
        theirs, ours = FRAMEWORKS[framework], FRAMEWORKS.get(engine, "gradcli")
        message = f"{name} uses {theirs}, and {ours}'s engine cannot run {theirs}'s derivative rules"
        raise CallError(message, f"use --grad or --vjp to check the derivative that {theirs} computes")


def replay_command(target: Target, request: Request) -> str:
    """Return the command line that repeats a check, without the seed. Large arrays are read or drawn again."""
    words = ["-e", target.text] if target.inline else [target.text]
    several = sum("rand" in text for text in request.typed.values()) > 1  # each draw depends on the ones before
    for name, x in request.values.items():
        if name in request.constants:  # --arg is among the options, with its value
            continue
        typed = request.typed.get(name, "")
        drawn = "rand" in typed
        again = typed and (np.size(x) > MOST_SHOWN or (several and drawn)) and not (request.shapes and drawn)
        words.append(f"{name}={typed if again else np.asarray(x).tolist()}")
    return " ".join(["gradcli gradcheck", *map(shlex.quote, words), request.repeated]).rstrip()


def surroundings_of(target: Target) -> Any:
    if target.name is None:
        return contextlib.nullcontext()
    assert target.folders is not None
    return target.folders.of(target.path)
