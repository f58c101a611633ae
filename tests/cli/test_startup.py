"""A short command imports little: families of the table, sympy, rich and what only other commands need stay away."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = """
import sys
from gradcli.cli.main import main
sys.argv = ["gradcli", *{words!r}]
try:
    main()
except SystemExit:
    pass
print(*sorted(sys.modules), file=sys.stderr)
"""


def modules(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(words=words)], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def test_a_scalar_gradient_loads_the_first_families_only():
    loaded = modules("grad", "x**2 * sin(y)", "x=2", "y=3")
    families = {name for name in loaded if name.startswith("gradcli.rules.")}
    assert "gradcli.rules.arithmetic" in families
    assert not families & {f"gradcli.rules.{name}" for name in ("linalg", "fourier", "special", "einsum", "scan")}
    others = ("api", "nn", "linalg", "func", "exact", "check", "fft", "special", "optim", "schema")
    assert not loaded & {f"gradcli.{name}" for name in others}


@pytest.mark.parametrize("heavy", ["sympy", "mpmath", "rich", "scipy", "matplotlib", "json", "multiprocessing"])
def test_heavy_libraries_stay_away(heavy):
    assert heavy not in modules("grad", "x**2 * sin(y)", "x=2", "y=3")


CHANGED = """
import gc, sys, warnings
import numpy as np
def settings():
    return gc.get_threshold(), gc.isenabled(), np.geterr(), sys.getrecursionlimit(), sys.excepthook, sys.meta_path[:]
before = settings()
import gradcli
x = gradcli.tensor([1.0, 2.0], requires_grad=True)
(gradcli.sin(x) / x).sum().backward()
assert settings() == before, (before, settings())
"""


def test_importing_changes_nothing_outside():
    subprocess.run([sys.executable, "-c", CHANGED], check=True)
