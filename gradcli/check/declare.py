"""Checks that files declare with `@gradcli.check`, and single checks from Python."""

from __future__ import annotations

import contextlib
import inspect
import os
import random
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ENDINGS, GradcliError, TimeIsUp
from ..lang.patience import Bound, bounded, time_left, within
from ..lang.settings import DEFAULT_MAX_ELEMENTS
from ..program.frameworks import FRAMEWORKS, engine_of, framework_of
from ..results.checks import CheckReport
from .declaration import complaints, is_shape, point_of
from .foreign import claimed_by, hand_written
from .pair import value_and_gradient
from .run import Options, Place, run_check
from .subject import CheckError, Subject, name_of, raised

REGISTRY: list[Declared] = []
"""All checks declared in this process, in order."""


BY_HAND = "a gradient written by hand is checked with --grad NAME (grad= in a declaration), and f gets plain arrays"
MOST_SHOWN = 12
"""Elements of an array that a report writes out."""
PATIENCE = 0.5
"""Seconds that looking for a rounder point may take, however quick the check was."""


@contextlib.contextmanager
def settings_kept() -> Iterator[None]:
    """Put back what a checked function may change for the next one: folder, streams, warnings, random numbers."""
    numbers, more, folder = np.random.get_state(), random.getstate(), ""
    with contextlib.suppress(OSError):  # a deleted folder
        folder = os.getcwd()
    with (
        contextlib.redirect_stdout(sys.stdout),
        contextlib.redirect_stderr(sys.stderr),
        warnings.catch_warnings(),
        np.errstate(),
    ):
        try:
            yield
        finally:
            np.random.set_state(numbers)
            random.setstate(more)
            with contextlib.suppress(OSError):
                os.chdir(folder)


class Declared:
    """One declared check: what to call, where, and how often.

    at: arrays by name, a function of a numpy.random.Generator that returns them, or shapes by name.
    """

    is_script = False
    """Whether a script is run for every value."""
    bounds_answers = False
    """Whether the time limit is that of an answer, not of the check."""

    def __init__(
        self,
        f: Callable,
        at: Any,
        *,
        grad: Callable | None = None,
        vjp: Callable | None = None,
        jvp: Callable | None = None,
        wrt: Sequence[str] | None = None,
        name: str | None = None,
        order: int = 1,
        samples: int = 1,
        rtol: float | None = None,
        atol: float | None = None,
        eps: float | None = None,
        seed: int = 0,
        fast: bool = False,
        calls: int | None = None,
        taylor: bool = False,
        file: str | None = None,
        line: int | None = None,
        replay: str | None = None,
        digits: int | None = None,
        symbolic: bool = False,
        engine: str | None = None,
        single: bool = False,
        search: int = 0,
        value_and_grad: bool = False,
    ):
        self.value_and_grad = value_and_grad
        self.digits, self.symbolic, self.calls, self.taylor = digits, symbolic, calls, taylor
        self.engine, self.single = engine, single
        self.search = search
        self.saved: Sequence[Mapping[str, Any]] = ()
        self.source: str | None = None
        self.f, self.at, self.grad, self.vjp, self.jvp = f, at, grad, vjp, jvp
        self.origin: Any = f
        self.wrt = [wrt] if isinstance(wrt, str) else wrt
        self.given_name = name
        self.name = name if name and isinstance(name, str) else name_of(f)
        self.order, self.samples, self.seed, self.fast = order, samples, seed, fast
        self.tolerances = None if rtol is None and atol is None and eps is None else (eps, atol, rtol)
        self.file, self.line, self.replay = file, line, replay
        self.surroundings: Any = contextlib.nullcontext()
        self.max_elements = DEFAULT_MAX_ELEMENTS
        self.repeated, self.arguments = "", ""
        self.elements = False
        self.bound: Bound | None = None
        self.watch: Callable[[str, int, int], None] | None = None

    def point(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the arrays of one sample. Raises CheckError for an `at` that gives none."""
        at = self.at
        if callable(at) and not isinstance(at, Mapping):
            try:
                at = at(rng)
            except ENDINGS:
                raise
            except BaseException as error:
                raise raised(name_of(self.at), error) from error
        return point_of(at, rng, self.max_elements)

    @property
    def random(self) -> bool:
        """Whether samples differ."""
        return any(map(is_shape, self.at.values())) if isinstance(self.at, Mapping) else callable(self.at)

    def subject(self, at: Mapping[str, Any]) -> Subject:
        """Return what is to be checked at a point."""
        f, claims = self.f, {"grad": self.grad, "vjp": self.vjp, "jvp": self.jvp}
        if self.value_and_grad:
            f, claims["grad"] = value_and_gradient(f)
        if any(claim is not None for claim in claims.values()):
            if self.order != 1:
                raise CheckError("order=2 needs a function of Tensors, without a derivative by hand")
            return hand_written(f, at, claims, self.wrt)
        engine = engine_of(self.origin, self.engine)
        if engine is not None:
            refuse_foreign(framework_of(self.origin), self.name, engine)
            if self.order != 1:
                raise CheckError(
                    f"order=2 checks second derivatives of gradcli's engine, not those of {FRAMEWORKS[engine]}"
                )
            return claimed_by(engine, self.origin, at, self.name, self.wrt, self.single)
        refuse_foreign(framework_of(self.origin), self.name)
        from .traced import Traced

        subject = Traced(self.f, at, wrt=self.wrt, title=self.name)
        if self.order == 1:
            return subject
        from .second import SecondOrder

        return SecondOrder(subject, self.seed)

    def run(self) -> CheckReport:
        """Check all samples; return the first that fails, made as simple as possible, else the worst.

        The function runs where its file was imported, and what it makes of the standard streams does not last.
        """
        problem = next(complaints(self), None)
        if problem is not None:
            return CheckReport(self.name, self.file, self.line, "error", 0.0, message=problem)
        start = time.perf_counter()
        with self.surroundings, settings_kept():
            try:
                with bounded(self.bound):
                    report = self.worst()
                    if not (self.search or self.saved) or report.verdict == "error":
                        return report
                    from .search import search

                    return search(self, report, self.search, self.saved)
            except GradcliError as error:
                seconds = time.perf_counter() - start
                return CheckReport(self.name, self.file, self.line, "error", seconds, message=error.message)

    def worst(self) -> CheckReport:
        """Return the report of the sample that fails first, else of the worst."""
        reports = []
        for k in range(self.samples if self.random else 1):
            seed = self.seed + k
            report = self.run_one(seed)
            if report.verdict == "fail":
                return report
            reports.append(report)
        order = ["error", "inconclusive", "pass"]
        worst = min(reports, key=lambda r: order.index(r.verdict))
        if len(reports) > 1 and worst.verdict == "pass":
            return replace(
                worst, notes=(*worst.notes, f"{len(reports)} samples"), seconds=sum(r.seconds for r in reports)
            )
        return worst

    def run_one(self, seed: int) -> CheckReport:
        """Check one sample."""
        calls = self.calls and max(self.calls // (self.samples if self.random else 1), 1)
        options = Options(
            fast=self.fast,
            seed=seed,
            tolerances=self.tolerances,
            calls=calls,
            taylor=self.taylor,
            elements=self.elements,
            watch=self.watch,
        )
        drawn: dict[str, Any] = {}

        def make() -> Subject:
            drawn.update(self.point(np.random.default_rng(seed)))
            return self.subject(drawn)

        report = run_check(make, Place(self.name, self.file, self.line, self.replay_line(seed)), options)
        if (self.digits is not None or self.symbolic) and drawn:
            from .witnesses import with_witnesses

            report = with_witnesses(report, self.subject(drawn), self.digits, self.symbolic, seed)
        if report.verdict == "error" and report.error is not None and self.knows_no_tensors:
            report = replace(report, hint=BY_HAND)
        if report.verdict == "fail" and self.random and drawn and self.calls is None:
            return self.simpler(report, drawn, options)
        return report

    def simpler(self, report: CheckReport, drawn: Mapping[str, Any], options: Options) -> CheckReport:
        """Return the report of a rounder point that fails as well, if there is one that can be shown.

        Looking for it takes no longer than the check did.
        """
        if any(np.size(x) > MOST_SHOWN for x in drawn.values()):
            return report
        with contextlib.suppress(TimeIsUp), within(time_left(max(report.seconds, PATIENCE))):
            return self.rounder(report, drawn, options)
        return report

    @property
    def knows_no_tensors(self) -> bool:
        """Whether the engine calls a function whose file does not speak of gradcli."""
        by_hand = self.value_and_grad or any(claim is not None for claim in (self.grad, self.vjp, self.jvp))
        names = getattr(self.origin, "__globals__", None)
        if by_hand or names is None or engine_of(self.origin, self.engine) is not None:
            return False
        homes = (getattr(x, "__module__", None) or getattr(x, "__name__", None) or "" for x in names.values())
        return not any(str(home).partition(".")[0] == "gradcli" for home in homes)

    def rounder(self, report: CheckReport, drawn: Mapping[str, Any], options: Options) -> CheckReport:
        """Return the report of the first point with fewer digits that fails as well, else the one given."""
        for digits in (0, 1, 2):
            rounded = {
                name: np.round(x, digits) if np.asarray(x).dtype.kind == "f" else x for name, x in drawn.items()
            }
            again = run_check(
                lambda at=rounded: self.subject(at),  # type: ignore[misc]
                Place(self.name, self.file, self.line, report.replay),
                options,
            )
            if again.verdict == "fail":
                return replace(again, notes=(*again.notes, f"the smallest failing point found: {shown(rounded)}"))
        return report

    def replay_line(self, seed: int) -> str | None:
        """Return the command line that repeats one sample."""
        if self.replay is None and self.file is None:
            return None
        words = [self.replay or f"gradcli gradcheck {shlex.quote(str(self.file))} -k {shlex.quote(self.name)}"]
        words += [self.repeated] if self.repeated else []
        words += [f"--seed {seed}"] if self.random or seed else []
        return " ".join([*words, self.arguments]).rstrip()


def refuse_foreign(framework: str | None, name: str, engine: str = "gradcli") -> None:
    """Raise CheckError for code of another framework: the engine would run its values, and never its rules."""
    if framework is not None and framework != engine:
        raise CheckError(
            f"{name} uses {FRAMEWORKS[framework]}, whose own derivative rules "
            f"{FRAMEWORKS.get(engine, 'gradcli')}'s engine does not run, so nothing would be said about them: check "
            "the derivative that the framework gives, with --grad or --vjp"
        )


def shown(at: Mapping[str, Any]) -> str:
    """Return small arrays as NAME=VALUE words."""
    words = []
    for name, x in at.items():
        raw = np.asarray(x)
        words.append(f"{name}={raw.tolist()}" if raw.size <= MOST_SHOWN else f"{name} of shape {raw.shape}")
    return ", ".join(words)


def check(f: Callable | None = None, *, at: Any = None, **options: Any) -> Any:
    """Declare a check of a function's gradient; returns the function unchanged.

    Use as a decorator, `@gradcli.check(at={"x": x0}, grad=f_grad)`, or call `gradcli.check(f, at=...)`. at: a dict of
    arrays, a function of a numpy.random.Generator that returns one, or shapes. grad: the gradient by hand, called
    like f: an array for one input, else a tuple in order or a dict by name (output.shape + input.shape each); vjp: a
    backward pass by hand, vjp(cotangent, *arrays); complex outputs of complex inputs need it; jvp: a forward
    derivative by hand, jvp(tangents, *arrays) with a tuple of tangents. Without them the derivative of the engine is
    checked that f is written for: PyTorch, JAX or HIPS autograd, which its code leads to, or gradcli, which calls f
    with Tensors; engine= chooses. value_and_grad: f returns (value, gradient). wrt: the names to check. order: 2
    checks second derivatives. samples: points drawn from `seed` on. rtol, atol, eps: fixed tolerances instead of the
    estimated error. search: at how many more points that people forget to look for one where the derivative is wrong.
    calls: how often f may be called. taylor: begin with the rate of the Taylor remainder. name: what reports call it.
    """
    known = set("grad vjp jvp engine wrt name order samples rtol atol eps seed fast search calls taylor".split())
    known.add("value_and_grad")
    unknown = set(options) - known
    if unknown:
        raise TypeError(
            f"check() got an unexpected argument {sorted(unknown)[0]!r}; it takes at, {', '.join(sorted(known))}"
        )
    file, line = caller()

    def declare(function: Callable) -> Callable:
        where = place_of(function) if f is None else None
        REGISTRY.append(
            Declared(function, at, file=(where or (file, line))[0], line=(where or (file, line))[1], **options)
        )
        return function

    return declare if f is None else declare(f)


def caller() -> tuple[str, int]:
    """Return file and line of the code outside this package that called."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("gradcli."):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def place_of(function: Callable) -> tuple[str, int] | None:
    """Return file and line of a function; None for one that has no Python source."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else (code.co_filename, code.co_firstlineno)


def check_gradient(
    f: Callable,
    grad: Callable | None = None,
    at: Any = None,
    *,
    vjp: Callable | None = None,
    jvp: Callable | None = None,
    **options: Any,
) -> CheckReport:
    """Check a gradient at once and return the report.

    f and grad are called positionally in the order of `at`, with plain ndarrays; without grad, vjp and jvp, the
    derivative of the engine is checked that f is written for. at and the options as in `check`.
    """
    if at is not None and not callable(at) and not isinstance(at, Mapping):
        names = parameter_names(f)
        values = at if isinstance(at, tuple | list) and len(names) > 1 else (at,)
        at = dict(zip(names, values, strict=False))
    file, line = place_of(f) or caller()
    return Declared(f, at, grad=grad, vjp=vjp, jvp=jvp, file=file, line=line, **options).run()


def parameter_names(f: Callable) -> list[str]:
    """Return the names of a function's parameters; x for one that tells none."""
    try:
        return list(inspect.signature(f).parameters) or ["x"]
    except (TypeError, ValueError):
        return ["x"]
