"""The contents of the banks: right and wrong claims about functions with known derivatives."""

from collections.abc import Iterator
from typing import Any

import mpmath as mp
import numpy as np

from ..numeric import test_cancellation, test_kink
from . import functions, hunt

Trial = tuple[str, Any, np.ndarray, dict[str, Any], float]
"""A label ("right" or "wrong"), the function, its point, the claim with options, and the claim's relative error."""


def proven(_: int) -> Iterator[Trial]:
    """Yield sums of atoms and coupled functions, with derivatives that mpmath proves to 50 digits."""
    for k, case in enumerate([*functions.elementwise(), *functions.coupled()]):
        yield "right", case.f, case.x, {"grad": case.grad}, 0.0
        for j, (_, grad) in enumerate(functions.mistakes(case)):
            if (k + j) % 4 == 0 and (size := case.relative_error(grad)) >= functions.WRONG_FROM:
                yield "wrong", case.f, case.x, {"grad": grad}, size


def random_claims(count: int, **options: Any) -> Iterator[Trial]:
    """Yield random functions with their gradient, one with a relative error of 1e-1 to 1e-6, and an absurd one."""
    for k in range(count):
        rng = np.random.default_rng([21, k])
        function = hunt.Function(rng)
        with np.errstate(all="ignore"):
            found = hunt.claims(function, rng)
        right = found.pop("right")
        yield "right", function.value, function.x, {"grad": lambda x, g=right: g, **options}, 0.0
        for what in (list(found)[0], list(found)[1 + k % (len(found) - 1)]):
            if np.isfinite(right).all() and (size := hunt.relative_gap(found[what], right)) > 0:
                yield "wrong", function.value, function.x, {"grad": lambda x, g=found[what]: g, **options}, size


def kinks(_: int) -> Iterator[Trial]:
    """Yield elements of generalized gradients at kinks, and vectors outside them."""
    for name, (f, x, right, wrong) in test_kink.CASES.items():
        if name not in test_kink.LARGE:
            for label, claims in (("right", right), ("wrong", wrong)):
                for g in claims:
                    claim = {"grad": lambda x, g=g: np.asarray(g, float)}
                    yield label, f, np.asarray(x, float), claim, np.inf if label == "wrong" else 0.0


def cancelling(_: int) -> Iterator[Trial]:
    """Yield functions that lose digits, with their derivative (mpmath, 60 digits) and with 1.5 times that."""
    for f, exact in test_cancellation.CANCELLING.values():
        for x in test_cancellation.PLACES:
            with mp.workdps(60):
                true = float(mp.diff(exact, mp.mpf(x), h=mp.mpf(10) ** -25))
            for label, claimed in (("right", true), ("wrong", 1.5 * true)):
                yield label, f, np.array(x), {"grad": lambda x, g=claimed: np.array(g)}, abs(claimed / true - 1)
