"""Run a checker on trials and count its verdicts."""

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from . import trials
from .trials import Trial

Judge = Callable[[Callable, np.ndarray, np.ndarray], str]
CHECKERS = sorted(path.stem for path in Path(__file__).parent.glob("checkers/[!_]*.py"))
BANKS = {
    "random": trials.random_claims,
    "proven": trials.proven,
    "kinks": trials.kinks,
    "cancelling": trials.cancelling,
}
"""The banks by name; each is a function of the number of random functions."""
COUNTED = ("right", "accused", "wrong", "found", "small", "small found", "open")
SMALL = 0.01
"""Relative errors below this are counted separately, since not every checker is meant to find them."""


def load(checker: str) -> Judge:
    """Return the `judge` of a checker. Raises ModuleNotFoundError if it or a package it needs does not exist."""
    if not checker.endswith(".py"):
        return importlib.import_module(f".checkers.{checker.lower()}", __package__).judge
    spec = importlib.util.spec_from_file_location("checker", checker)
    if spec is None or spec.loader is None or not Path(checker).is_file():
        raise ModuleNotFoundError(f"no such file: {checker}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.judge


class Counting:
    """The function of a trial, changed to take a vector, return a float and count its calls."""

    def __init__(self, f: Callable, shape: tuple[int, ...]):
        self.f, self.shape, self.calls = f, shape, 0

    def __call__(self, x: Any) -> float:
        self.calls += 1
        return float(self.f(np.reshape(x, self.shape)))


def count_verdicts(judge: Judge, bank: Iterable[Trial]) -> dict[str, Any]:
    """Count the verdicts on right and wrong claims; add the median calls and milliseconds per check."""
    counts = dict.fromkeys(COUNTED, 0)
    calls, seconds = [], []
    for label, f, x, claim, size in bank:
        counted = Counting(f, x.shape)
        with np.errstate(all="ignore"):
            claimed = np.ravel(claim["grad"](x)).astype(float)
            start = time.perf_counter()
            verdict = judge(counted, np.ravel(x), claimed)
        seconds.append(time.perf_counter() - start)
        calls.append(counted.calls)
        kind = "small" if label == "wrong" and size < SMALL else label
        counts[kind] += 1
        counts[{"right": "accused", "wrong": "found", "small": "small found"}[kind]] += verdict == "fail"
        counts["open"] += verdict not in ("pass", "fail")
    return {**counts, "calls": statistics.median(calls), "milliseconds": round(1e3 * statistics.median(seconds), 3)}
