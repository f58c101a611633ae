"""Measure how often the verdict is right: for each bank, count the outcomes of right and wrong claims.

python -m tests.calibrate                       prints the table
python -m tests.calibrate --functions 500 FILE  also writes JSON, which `man.generate` puts into gradcli-verdict(7)
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gradcli import check_gradient

from .bank import hunt
from .bank.trials import Trial, cancelling, kinks, proven, random_claims
from .check import test_search
from .explain import test_patterns
from .numeric import test_products

FUNCTIONS = 100
COUNTED = ("right", "accused", "left open", "wrong", "found", "not decided", "within what was stated", "missed")


def backward_passes(count: int) -> Iterator[Trial]:
    """Yield backward passes that are right, nonlinear, clipped or rounded, and stale, rough or partial gradients."""
    for k in range(count):
        function = hunt.Function(np.random.default_rng([22, k]))
        with np.errstate(all="ignore"):
            found = hunt.passes(function)
        for label, claim in found.values():
            yield label, function.value, function.x, claim, np.inf if label == "wrong" else 0.0
    for claim in test_products.WRONG.values():
        yield "wrong", np.sin, test_products.X, {"vjp": claim}, np.inf
    for claim in test_patterns.ROUGH.values():
        yield "wrong", test_patterns.total, test_patterns.ROUGH_AT, {"grad": claim}, np.inf


def regions(_: int) -> Iterator[Trial]:
    """Yield right gradients, and ones off by 0.1 % to 50 % in a region away from the point; search with 60 points."""
    for region in test_search.REGIONS.values():
        for off in (0.0, 0.5, 0.01, 0.001):
            label, claim = "wrong" if off else "right", {"grad": test_search.off_in(region, off), "search": 60}
            yield label, test_search.wave_on_parabola, test_search.BESIDE_REGIONS, claim, off


BANKS = {
    "functions with proven derivatives": proven,
    "random functions": random_claims,
    "random functions, with 50 calls (--calls 50)": lambda count: random_claims(count, calls=50),
    "backward passes of random functions": backward_passes,
    "kinks": kinks,
    "functions that lose digits": cancelling,
    "claims that are wrong only in a region (--search 60)": regions,
}


def outcome(trial: Trial) -> str:
    """Return the count that a trial adds to besides its label; "" for a right claim that passes."""
    label, f, x, claim, size = trial
    report = check_gradient(f, at={"x": x}, **claim)
    if label == "right":
        return {"pass": "", "fail": "accused"}.get(report.verdict, "left open")
    if report.verdict == "pass":
        return "within what was stated" if hunt.is_honest(report, size) else "missed"
    return "found" if report.verdict == "fail" else "not decided"


def calibrate(count: int) -> list[dict[str, Any]]:
    """Return one row of counts per bank."""
    rows = []
    for name, trials in BANKS.items():
        counts: Counter = Counter()
        for trial in trials(count):
            counts.update([trial[0], outcome(trial)])
        rows.append({"bank": name, **{key: counts[key] for key in COUNTED}})
        print(name, *(f"{key} {counts[key]}" for key in COUNTED), sep="\t", flush=True)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", type=int, default=FUNCTIONS, help="random functions per bank")
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE")
    asked = parser.parse_args()
    table = {"functions": asked.functions, "banks": calibrate(asked.functions)}
    if asked.file is not None:
        asked.file.write_text(json.dumps(table, indent=2) + "\n")
