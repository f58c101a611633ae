"""Random functions: no absurd claim passes, no right one fails, and what passes is within the stated resolution."""

import mpmath as mp
import numpy as np
import pytest

from gradcli.check.run import Place, run_check
from gradcli.check.subjects.hand_written import HandWritten

from .hunt import ABSURD, ATOMS, Function, claims

FUNCTIONS, CHUNKS = 500, 20
EXACT = {
    "sin": mp.sin,
    "exp": mp.exp,
    "tanh": mp.tanh,
    "softplus": lambda t: mp.log1p(mp.exp(t)),
    "logistic": lambda t: 1 / (1 + mp.exp(-t)),
    "log loss": lambda t: mp.log1p(mp.exp(-t)),
    "log": mp.log,
    "sqrt": mp.sqrt,
    "cube": lambda t: t**3,
    "quartic": lambda t: t**4 - 2 * t,
    "reciprocal": lambda t: 1 / t,
    "arctan": mp.atan,
    "bell": lambda t: mp.exp(-t * t / 2),
    "wave": lambda t: mp.sin(30 * t),
    "xlogx": lambda t: t * mp.log(t),
    "relu": lambda t: max(t, mp.mpf(0)),
    "leaky": lambda t: t if t > 0 else mp.mpf(0.1) * t,
    "abs": abs,
    "huber": lambda t: t * t / 2 if abs(t) <= 1 else abs(t) - mp.mpf(0.5),
    "hinge": lambda t: max(1 - t, mp.mpf(0)),
    "distance": lambda t: abs(t - 1),
    "clip": lambda t: min(max(t, mp.mpf(-2)), mp.mpf(1)) ** 2,
    "rounded": mp.sin,
    "single": mp.sin,
}


@pytest.mark.parametrize("name", ATOMS)
def test_the_slopes_of_the_atoms_are_right(name):
    atom = ATOMS[name]
    for part in (0.03, 0.21, 0.48, 0.77, 0.98):
        t = atom.low + part * (atom.high - atom.low)
        with mp.workdps(40):
            true = mp.diff(EXACT[name], mp.mpf(t), h=mp.mpf(10) ** -15)
        steep = 1.0 if name == "wave" else 0.0  # rounding of 30 t
        assert abs(float(atom.slope(t)) - float(true)) <= 4e-14 * max(abs(float(true)), 10 * steep), t


def report(function, claimed):
    return run_check(lambda: HandWritten(function.value, {"x": function.x}, grad=lambda x: claimed), Place("f"))


@pytest.mark.parametrize("chunk", range(CHUNKS))
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
