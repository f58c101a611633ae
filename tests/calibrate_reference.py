"""Measure how often comparing low-precision kernels with a reference is right, by type (tests/elsewhere/kernels.py).

python -m tests.calibrate_reference               prints the table (needs PyTorch)
python -m tests.calibrate_reference --kernels 1000 FILE   also writes JSON, for gradcli-verdict(7) (see `man.generate`)
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from .elsewhere import kernels

COUNTED = ("right", "accused", "left open", "wrong", "found", "not decided", "missed")
OUTCOMES = {True: {"pass": "", "fail": "accused"}, False: {"pass": "missed", "fail": "found"}}


def calibrate(count: int, verbose: bool = False, first: int = 0) -> list[dict[str, Any]]:
    """Return one row of counts per type. Half of the kernels are right; sizes and scales are random."""
    rows = []
    for number, dtype in enumerate(kernels.TYPES):
        counts: Counter = Counter()
        for k in range(count // len(kernels.TYPES)):
            rng = np.random.default_rng([number, first + k])
            name, right = str(rng.choice(list(kernels.KERNELS))), bool(k % 2)
            kernel = kernels.KERNELS[name]
            way = str(rng.choice(list(kernel.right if right else kernel.wrong)))
            size = int(2 ** rng.uniform(2, 6.5)), int(2 ** rng.uniform(4, 9))
            scale = float(2 ** rng.uniform(-1, 2))
            report = kernels.judge(name, way, dtype, size, first + k, scale)
            outcome = OUTCOMES[right].get(report.verdict, "left open" if right else "not decided")
            counts.update(["right" if right else "wrong", outcome])
            if verbose and outcome not in ("", "found"):
                print(outcome, name, way, dtype, size, scale, report.message, *report.notes[1:], sep="\n    ")
        rows.append({"bank": f"kernels in {dtype}", **{key: counts[key] for key in COUNTED}})
        print(dtype, *(f"{key} {counts[key]}" for key in COUNTED), sep="\t", flush=True)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="seed of the first kernel")
    parser.add_argument("-v", action="store_true", help="print kernels with a wrong or undecided verdict")
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE")
    asked = parser.parse_args()
    table = {"kernels": asked.kernels, "types": calibrate(asked.kernels, asked.v, asked.first)}
    if asked.file is not None:
        asked.file.write_text(json.dumps(table, indent=2) + "\n")
