"""A check that is to be made: a function, its derivative by hand if there is one, where, and what was asked of it."""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import ENDINGS, GradcliError, TimeIsUp
from ..lang.limits import enforce, time_left, within
from ..program.claim import CallError, Claim, call_failed, callable_name
from ..program.detect_framework import FRAMEWORKS, engine_of, framework_of
from ..program.elsewhere.framework import framework_call, second_order
from ..program.hand_written import claim_by_hand, value_and_gradient
from ..program.target import Target
from ..show.check_results import CheckReport
from .options import Options, complaints, is_shape, point_of, tolerances_of
from .run import Place, run_check

BY_HAND = "a gradient written by hand is checked with --grad NAME (grad= in a declaration), and f gets plain arrays"
WHOLE_NUMBERS = "--arg NAME='[2, 0]' gives whole numbers, as does a parameter annotated with int or NDArray[np.int64]"
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


class Check:
    """One check: what to call, where, and how often.

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
        rtol: float | None = None,
        atol: float | None = None,
        eps: float | None = None,
        file: str | None = None,
        line: int | None = None,
        replay: str | None = None,
        single: bool = False,
        value_and_grad: bool = False,
        **options: Any,
    ):
        self.f, self.at, self.grad, self.vjp, self.jvp = f, at, grad, vjp, jvp
        self.value_and_grad = value_and_grad
        self.options = Options(tolerances=tolerances_of(eps, atol, rtol), **options)
        self.single = single
        self.saved: Sequence[Mapping[str, Any]] = ()
        self.source: str | None = None
        self.origin: Any = f
        self.wrt = [wrt] if isinstance(wrt, str) else wrt
        self.given_name = name
        self.name = name if name and isinstance(name, str) else callable_name(f)
        self.file, self.line, self.replay = file, line, replay
        self.surroundings: Any = contextlib.nullcontext()
        self.repeated, self.arguments = "", ""

    def point(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the arrays of one sample. Raises CallError for an `at` that gives none."""
        at = self.at
        if callable(at) and not isinstance(at, Mapping):
            try:
                at = at(rng)
            except ENDINGS:
                raise
            except BaseException as error:
                raise call_failed(callable_name(self.at), error) from error
        return point_of(at, rng, self.options.max_elements)

    @property
    def random(self) -> bool:
        """Whether samples differ."""
        return any(map(is_shape, self.at.values())) if isinstance(self.at, Mapping) else callable(self.at)

    @property
    def sample_count(self) -> int:
        """At how many points to check: one, where they do not differ."""
        return self.options.samples if self.random else 1

    def claim(self, at: Mapping[str, Any]) -> Claim:
        """Return what is to be checked at a point."""
        f, claims = self.f, {"grad": self.grad, "vjp": self.vjp, "jvp": self.jvp}
        if self.value_and_grad:
            f, claims["grad"] = value_and_gradient(f)
        if any(claim is not None for claim in claims.values()):
            if self.options.order != 1:
                raise CallError("order=2 needs a function of Tensors, without a derivative by hand")
            return claim_by_hand(f, at, claims, self.wrt)
        engine = engine_of(self.origin, self.options.engine)
        if engine is not None:
            refuse_foreign(framework_of(self.origin), self.name, engine)
            try:
                call = framework_call(engine, self.origin, at, self.name, wrt=self.wrt, single=self.single)
            except GradcliError as error:
                raise error if isinstance(error, CallError) else CallError(error.message) from error
            return call if self.options.order == 1 else second_order(call, self.options.seed)
        refuse_foreign(framework_of(self.origin), self.name)
        from ..program.recorded import SecondOrder, Traced

        claim = Traced(self.f, at, wrt=self.wrt, title=self.name)
        return claim if self.options.order == 1 else SecondOrder(claim, self.options.seed)

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
                with enforce(self.options.bound):
                    report = self.worst()
                    if not (self.options.search or self.saved) or report.verdict == "error":
                        return report
                    from .search import search

                    return search(self, report, self.options.search, self.saved)
            except GradcliError as error:
                seconds = time.perf_counter() - start
                return CheckReport(self.name, self.file, self.line, "error", seconds, message=error.message)

    def worst(self) -> CheckReport:
        """Return the report of the sample that fails first, else of the worst."""
        reports = []
        for k in range(self.sample_count):
            report = self.run_one(self.options.seed + k)
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
        calls = self.options.calls and max(self.options.calls // self.sample_count, 1)
        options = self.options._replace(seed=seed, calls=calls)
        drawn: dict[str, Any] = {}

        def make() -> Claim:
            drawn.update(self.point(np.random.default_rng(seed)))
            return self.claim(drawn)

        report = run_check(make, Place(self.name, self.file, self.line, self.replay_line(seed)), options)
        if (options.digits is not None or options.symbolic) and drawn:
            from .witnesses import with_witnesses

            report = with_witnesses(report, self.claim(drawn), options.digits, options.symbolic, seed)
        if report.verdict == "error" and report.error is not None and self.knows_no_tensors:
            report = replace(report, hint=BY_HAND)
        if isinstance(report.error, IndexError) and "must be of integer" in str(report.error):
            report = replace(report, hint=WHOLE_NUMBERS)
        if report.verdict == "fail" and self.random and drawn and calls is None:
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
        if by_hand or names is None or engine_of(self.origin, self.options.engine) is not None:
            return False
        homes = (getattr(x, "__module__", None) or getattr(x, "__name__", None) or "" for x in names.values())
        return not any(str(home).partition(".")[0] == "gradcli" for home in homes)

    def rounder(self, report: CheckReport, drawn: Mapping[str, Any], options: Options) -> CheckReport:
        """Return the report of the first point with fewer digits that fails as well, else the one given.

        No element becomes zero: there much is zero, or has a kink, that is not elsewhere.
        """
        for digits in (0, 1, 2):
            rounded = {
                name: np.round(x, digits) + 0.0 if np.asarray(x).dtype.kind == "f" else x  # and no -0.0
                for name, x in drawn.items()
            }
            if any(((rounded[name] == 0) & (x != 0)).any() for name, x in drawn.items()):
                continue
            again = run_check(
                lambda at=rounded: self.claim(at),  # type: ignore[misc]
                Place(self.name, self.file, self.line, report.replay),
                options,
            )
            if again.verdict == "fail":
                return replace(again, notes=(*again.notes, f"the smallest failing point found: {values_text(rounded)}"))
        return report

    def replay_line(self, seed: int) -> str | None:
        if self.replay is None and self.file is None:
            return None
        words = [self.replay or f"gradcli gradcheck {shlex.quote(str(self.file))} -k {shlex.quote(self.name)}"]
        words += [self.repeated] if self.repeated else []
        words += [f"--seed {seed}"] if self.random or seed else []
        return " ".join([*words, self.arguments]).rstrip()


def refuse_foreign(framework: str | None, name: str, engine: str = "gradcli") -> None:
    """Raise CallError for code of another framework: the engine would run its values, and never its rules."""
    if framework is not None and framework != engine:
        raise CallError(
            f"{name} uses {FRAMEWORKS[framework]}, whose own derivative rules "
            f"{FRAMEWORKS.get(engine, 'gradcli')}'s engine does not run, so nothing would be said about them: check "
            "the derivative that the framework gives, with --grad or --vjp"
        )


def values_text(at: Mapping[str, Any]) -> str:
    words = []
    for name, x in at.items():
        raw = np.asarray(x)
        words.append(f"{name}={raw.tolist()}" if raw.size <= MOST_SHOWN else f"{name} of shape {raw.shape}")
    return ", ".join(words)


class Wanted(NamedTuple):
    """What the options of `gradcheck` ask for.

    values: arrays by input; shapes: inputs drawn at random; grad, vjp, jvp: names of hand-written derivatives;
    value_and_grad: whether the function returns both. options: those of `Options` that every check gets. timeout,
    config: seconds for an answer and JSON for what runs elsewhere. typed: the values as they were typed; repeated:
    the options that repeat a check, as they would be typed.
    """

    values: Mapping[str, np.ndarray]
    shapes: Mapping[str, tuple[int, ...]] = {}
    grad: str | None = None
    vjp: str | None = None
    jvp: str | None = None
    value_and_grad: bool = False
    wrt: list[str] | None = None
    out: str | None = None
    options: Mapping[str, Any] = {}
    timeout: float | None = None
    config: str | None = None
    typed: Mapping[str, str] = {}
    repeated: str = ""

    @property
    def at(self) -> dict[str, Any]:
        """The inputs: arrays and shapes by name."""
        return {**self.values, **self.shapes}

    @property
    def claims(self) -> dict[str, str | None]:
        """The names of derivatives by hand, by their option."""
        return {"grad": self.grad, "vjp": self.vjp, "jvp": self.jvp}

    def refuse_for(self, path: str) -> None:
        """Raise GradcliError for options that a file's declared checks cannot use: they have points of their own."""
        given = {
            **{f"{name}=": name for name in self.values},
            **{f"--shape {name}": name for name in self.shapes},
            "--grad": self.grad,
            "--vjp": self.vjp,
            "--jvp": self.jvp,
            "--value-and-grad": self.value_and_grad or None,
            "--wrt": self.wrt,
            "--out": self.out,
        }
        for option, value in given.items():
            if value is not None:
                raise GradcliError(
                    f"{path} declares its checks with their inputs, so {option} has no use",
                    hint=f"name a function to check it elsewhere: {path}:f x=2",
                    kind="usage",
                )

    def replay(self, target: Target) -> str:
        """Return the command line that repeats the check of a target, but for its seed.

        Few numbers are written out, more are read or drawn again, unless the seed of samples draws others.
        """
        words = ["-e", target.text] if target.inline else [target.text]
        several = sum("rand" in text for text in self.typed.values()) > 1  # they follow each other
        for name, x in self.values.items():
            typed = self.typed.get(name, "")
            drawn = "rand" in typed
            again = typed and (np.size(x) > 12 or (several and drawn)) and not (self.shapes and drawn)
            words.append(f"{name}={typed if again else np.asarray(x).tolist()}")
        return " ".join(["gradcli gradcheck", *map(shlex.quote, words), self.repeated]).rstrip()


def only_given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those that are None."""
    return {name: value for name, value in options.items() if value is not None}


def surroundings_of(target: Target) -> Any:
    """Return the context that a program runs in: the surroundings of the file that defines a function."""
    path, colon, _ = target.text.partition(".py:")
    if target.inline or not colon:
        return contextlib.nullcontext()
    assert target.folders is not None
    return target.folders.of(path + ".py")


def with_options(check: Any, wanted: Wanted) -> Any:
    """Return a check with the options of the command line; a report as it is."""
    if isinstance(check, Check):
        check.options = check.options._replace(**wanted.options)
    return check
