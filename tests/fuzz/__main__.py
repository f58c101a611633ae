"""`python -m tests.fuzz SEED COUNT [GROUP...]` runs COUNT attempts of each group and prints those that end badly."""

import sys
import time

from .outside import attempts
from .test_groups import GROUPS

for name in sys.argv[3:] or GROUPS:
    start = time.monotonic()
    bad = attempts(name, int(sys.argv[1]), int(sys.argv[2]))
    print(f"{name}: {len(bad)} of {sys.argv[2]} in {time.monotonic() - start:.0f} s", flush=True)
    for line, why in bad:
        print("  ", line, "\n      ", why.replace("\n", "\n       "), flush=True)
