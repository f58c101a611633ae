"""Random functions: no absurd claim passes, no right one fails, and what passes is within the stated resolution."""

import mpmath as mp
import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.check.run import Place, run_check
from gradcli.program.hand_written import HandWritten

from .atoms import ATOMS
from .hunt import ABSURD, NAMES, Function, claims, is_honest, passes, relative_gap

FUNCTIONS, CHUNKS = 500, 20


@pytest.mark.parametrize("name", NAMES)
def test_the_slopes_of_the_atoms_are_right(name):
    atom = ATOMS[name]
    low, high = atom.span
    for part in (0.03, 0.21, 0.48, 0.77, 0.98):
        t = low + part * (high - low)
        with mp.workdps(40):
            true = mp.diff(atom.exact or atom.value, mp.mpf(t), h=mp.mpf(10) ** -15)
        steep = 1.0 if name == "wave" else 0.0  # rounding of 30 t
        assert abs(float(atom.slope(t)) - float(true)) <= 4e-14 * max(abs(float(true)), 10 * steep), t


def report(function, claimed):
    return run_check(lambda: HandWritten(function.value, {"x": function.x}, grad=lambda x: claimed), Place("f"))


@pytest.mark.parametrize("chunk", [0, 1, *(pytest.param(k, marks=pytest.mark.nightly) for k in range(2, CHUNKS))])
def test_verdicts_on_random_functions(chunk):
    for k in range(chunk, FUNCTIONS, CHUNKS):
        rng = np.random.default_rng([16, k])
        function = Function(rng)
        with np.errstate(all="ignore"):
            found = claims(function, rng)
        right = found.pop("right")
        assert report(function, right).verdict != "fail", (k, function)
        what = list(found)[k % len(found)]
        checked = report(function, found[what])
        if checked.verdict == "pass":
            honest = is_honest(checked, relative_gap(found[what], right))
            assert what not in ABSURD[:4] and honest, (k, what, function)


@pytest.mark.parametrize("chunk", [0, *(pytest.param(k, marks=pytest.mark.nightly) for k in range(1, CHUNKS))])
def test_verdicts_on_backward_passes_of_random_functions(chunk):
    for k in range(chunk, FUNCTIONS, CHUNKS):
        function = Function(np.random.default_rng([17, k]))
        with np.errstate(all="ignore"):
            found = passes(function)
        for what, (label, claim) in found.items():
            report = check_gradient(function.value, at={"x": function.x}, **claim)
            passed = report.verdict == "pass" and not is_honest(report, np.inf)
            assert report.verdict != "fail" if label == "right" else not passed, (k, what, function)
