"""Search the edits of a derivative's source for one with which its check passes."""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import os
import re
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..claims.claim import CallError, Claim, OutOfCallsError
from ..errors import GradcliError, TimeIsUp
from ..explain.points import resized
from ..lang.limits import more_memory, within
from ..results.checks import CheckReport
from ..results.patches import Patch, Replacement
from ..user.frameworks import without_filtered_tracebacks
from ..user.source import Edit, FunctionSource, apply_edits
from .candidates import Candidate, candidates
from .pairs import Partial
from .scope import scope_of
from .subject import Subject, installed, raising, subject_of
from .trial import TRIAL_DIRECTIONS, Trial, other_trials, reshaped_trial

CANDIDATES, SEARCH_SECONDS = 5_000, 10.0  # edits tried by default, and time for them
SHORTEST_TRIAL, LONGEST_TRIAL = 0.1, 1.0
"""CPU seconds that one edit may take at least and at most: an edited loop may never end."""
SLOWER = 20.0  # how many times longer than the derivative as it is an edit may take, within these bounds
WAITING = 5.0  # seconds that one edit may wait for something
TRIAL_BYTES, TRIAL_COPIES = 1 << 29, 32  # memory of an edit, and more for each byte of input: an outer product is n**2
MOST_CHECKED = 5  # most edits that are checked as a whole: a choice
FEWEST_NAMED = 3  # from this number on, a constant that equals a length is suspect if no other shape shows what it is


class SearchLimits(NamedTuple):
    candidates: int = CANDIDATES
    seconds: float = SEARCH_SECONDS


def find_patch(
    claim: Claim,
    origin: Any,
    report: CheckReport,
    check: Callable[[Mapping[str, Any] | None], CheckReport],
    limits: SearchLimits = SearchLimits(),
) -> Patch | None:
    """Return the shortest edit with which a failed check passes; None if there is none. Raises GradcliError.

    claim: the wrong claim at the checked point; origin: the checked function. check: runs the whole check at the same
    point (None), or at other inputs.
    """
    with quiet(), without_filtered_tracebacks():  # many edits raise an error
        try:
            trial = Trial(claim, 0, in_parts=True)
        except (CallError, OutOfCallsError):
            return None
        if not trial.is_known or trial.accepts():
            return None
        subject = subject_of(claim, origin)
        subject = used_in(subject, trial)
        return Search(subject, trial, {finding.kind for finding in report.diagnosis}, limits).run(check)


MOST_REMEMBERED = 32  # values that are kept: one for each point


def remembering(function: Callable) -> Callable:
    """Return a function that calls another once for the same arguments, for backward functions that need a cache."""
    kept: dict[tuple, Any] = {}

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        key = tuple((np.shape(x), np.asarray(x).tobytes()) for x in (*arguments, *named.values()))
        if key not in kept and len(kept) < MOST_REMEMBERED:
            kept[key] = function(*arguments, **named)
        return copy.deepcopy(kept[key]) if key in kept else function(*arguments, **named)

    return call


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Drop what the user's functions print, and their warnings."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def used_in(subject: Subject, trial: Trial) -> Subject:
    """Return the subject with the functions that the claim calls each time. Raises GradcliError if there is none.

    Compiled and cached functions keep what they were made from. If only recording the function calls the rules, the
    trial records it again for each edit. A derivative that raises an error may be in any of the functions.
    """
    if not trial.runs():
        trial.recorded = False
        return subject
    used = called_by(trial, subject.sources)
    if not used:
        trial.recorded = False
        used = called_by(trial, subject.sources)
    if not used:
        first = subject.sources[0]
        name, file = first.node.name, os.path.relpath(first.file)
        message = f"edits of {name} ({file}:{first.node.lineno}) have no effect: it is compiled or cached"
        raise GradcliError(message, hint="remove the decorator, and run the command again", kind="target")
    return Subject(subject.claim, subject.forward, tuple(used))


def called_by(trial: Trial, sources: Sequence[FunctionSource]) -> list[FunctionSource]:
    used = []
    for source in sources:
        with installed(source, raising(source)):
            if not trial.runs():
                used.append(source)
    return used


class Search:
    """The search for an edit. each: CPU seconds that one edit may take; tried: how many edits were tried."""

    def __init__(self, subject: Subject, trial: Trial, findings: Collection[str], limits: SearchLimits):
        self.subject, self.trial, self.limits = subject, trial, limits
        self.findings = findings
        self.end = time.monotonic() + limits.seconds
        began = time.process_time()
        trial.accepts()
        self.each = min(max(SLOWER * (time.process_time() - began), SHORTEST_TRIAL), LONGEST_TRIAL)
        self.tried = 0

    def run(self, check: Callable[[Mapping[str, Any] | None], CheckReport]) -> Patch | None:
        hits, partial = [], Partial(self.trial.agreeing())
        with more_memory(TRIAL_BYTES + TRIAL_COPIES * sum(x.nbytes for x in self.trial.flat.arrays)):
            for candidate in self.in_order():
                right = self.outcome(candidate, self.trial.agreeing)
                if right is not None and right[:TRIAL_DIRECTIONS].all():
                    hits.append(candidate)
                elif right is not None:
                    partial.note(candidate, right)
        return self.best(hits, check) or self.best([*filter(self.agrees_here, partial.pairs())], check)

    def best(self, hits: list[Candidate], check: Callable[[Mapping[str, Any] | None], CheckReport]) -> Patch | None:
        """Return the shortest of several edits with which the whole check passes, here and elsewhere."""
        others, reshaped = self.elsewhere if hits else ([], None)
        trials = others if reshaped is None else [*others, reshaped]
        if not others:
            return None
        if reshaped is None:
            hits = [hit for hit in hits if not self.names_a_length(hit)]
        hits = [hit for hit in hits if self.agrees(hit, trials)]
        hits.sort(key=lambda hit: hit.preference)
        for hit in hits[:MOST_CHECKED]:
            report = self.checked(hit, check, reshaped is not None)
            if report is not None:
                return patch_of(hit, len(hits) - 1, self.tried, report.resolution)
        return None

    @functools.cached_property
    def elsewhere(self) -> tuple[list[Trial], Trial | None]:
        """Other points in the same shape, and one in another shape."""
        claim, recorded = self.subject.claim, self.trial.recorded
        return list(other_trials(claim, recorded)), reshaped_trial(claim, recorded)

    def in_order(self) -> Iterator[Candidate]:
        """Yield the candidates of all functions, as many as the limits allow."""
        every: list[Candidate] = []
        for source in self.subject.sources:
            every += candidates(source, scope_of(source, self.subject.forward), self.findings)
        every.sort(key=lambda candidate: candidate.rank)
        for candidate in every[: self.limits.candidates]:
            if time.monotonic() > self.end:
                return
            self.tried += 1
            yield candidate

    def agrees_here(self, candidate: Candidate) -> bool:
        return time.monotonic() < self.end and self.agrees(candidate, [self.trial])

    def agrees(self, candidate: Candidate, trials: Sequence[Trial]) -> bool:
        """Report whether an edited function agrees with the numeric slopes at points."""
        return bool(self.outcome(candidate, lambda: all(trial.accepts() for trial in trials), len(trials)))

    def outcome(self, candidate: Candidate, evaluate: Callable[[], Any], points: int = 1) -> Any:
        """Return what a function returns while an edit is installed; None if the edited function fails."""
        try:
            code = candidate.source.compile(candidate.edits)
        except (SyntaxError, ValueError):
            return None
        if len(code.co_freevars) != len(candidate.source.function.__code__.co_freevars):
            return None
        try:
            limit = self.each * points
            with installed(candidate.source, code), within(limit, cpu=True), within(max(limit, WAITING)):
                return evaluate()
        except (TimeIsUp, Exception):  # an edited function may raise anything
            return None

    def names_a_length(self, candidate: Candidate) -> bool:
        """Report whether an edit puts in a number that equals a length, which may be right for one shape only."""
        flat = self.trial.flat
        shapes = [x.shape for x in self.subject.claim.at.values()] + [flat.out_shape]
        lengths = {n for shape in shapes for n in (*shape, int(np.prod(shape))) if n >= FEWEST_NAMED}
        old = numbers_in_text("".join(candidate.source.text[e.start : e.end] for e in candidate.edits))
        text = "".join(e.text for e in candidate.edits)
        new = numbers_in_text(text) - old
        of_length = re.search(r"len\(|\.shape|\.size", text) is not None  # such as len(x) - 2
        return bool(new) and (of_length or (candidate.kind == "constant" and bool(new & lengths)))

    def checked(
        self, hit: Candidate, check: Callable[[Mapping[str, Any] | None], CheckReport], reshaped: bool
    ) -> CheckReport | None:
        """Run the whole check on an edited function, and in another shape if shapes are free; None if it fails."""
        with installed(hit.source, hit.source.compile(hit.edits)):
            report = check(None)
            if report.verdict != "pass":
                return None
            if reshaped:
                claim = self.subject.claim
                again = next((r for at in resized(claim.at, claim.wrt) if (r := check(at)).verdict != "error"), None)
                if again is not None and again.verdict == "fail":
                    return None
            return report


def numbers_in_text(text: str) -> set[float]:
    return {float(word) for word in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", text)}


def patch_of(hit: Candidate, others: int, tried: int, resolution: float) -> Patch:
    source = hit.source
    relative = os.path.relpath(source.file)
    shown = source.file if relative.startswith(os.pardir) else relative
    after = apply_edits(source.text, hit.edits)
    replacements = tuple(replacement(source, edit) for edit in sorted(hit.edits))
    line = replacements[0].line
    return Patch(shown, source.file, line, source.text, after, replacements, others, tried, resolution, hit.together)


def replacement(source: FunctionSource, edit: Edit) -> Replacement:
    (line, column), (end_line, end_column) = (place_of_offset(source, offset) for offset in (edit.start, edit.end))
    return Replacement(line, column, end_line, end_column, edit.text, edit.start, edit.end)


def place_of_offset(source: FunctionSource, offset: int) -> tuple[int, int]:
    """Return line and column of an offset, both from 1."""
    line = max(k for k, start in enumerate(source.starts) if start <= offset)
    return line + 1, offset - source.starts[line] + 1
