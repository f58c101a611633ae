"""Random functions: no absurd claim passes, no right one fails, and what passes is within the stated resolution."""

import mpmath as mp
import numpy as np
import pytest

from gradcli.check.hand_written import HandWritten
from gradcli.check.run import Place, run_check

from .atoms import ATOMS
from .hunt import ABSURD, NAMES, Function, claims

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


@pytest.mark.parametrize("chunk", [*range(6), *(pytest.param(k, marks=pytest.mark.nightly) for k in range(6, CHUNKS))])
def test_verdicts_on_random_functions(chunk):
    for k in range(chunk, FUNCTIONS, CHUNKS):
        rng = np.random.default_rng([16, k])
        function = Function(rng)
        with np.errstate(all="ignore"):
            found = claims(function, rng)
        right = found.pop("right")
        assert report(function, right).verdict != "fail", (k, function)
        what = list(found)[k % len(found)]
        with np.errstate(all="ignore"):
            gap = np.abs(found[what] - right)
            size = float(np.nanmax(np.where(gap > 0, gap / np.abs(right), 0.0)))
        checked = report(function, found[what])
        if checked.verdict == "pass":
            resolution = max(item.resolution or 0.0 for item in checked.inputs)
            kink = any("kink" in note for note in checked.notes)
            assert what not in ABSURD[:4] and (size <= resolution or kink), (k, what, function)
