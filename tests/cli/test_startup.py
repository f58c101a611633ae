"""A short command imports little: families of the table, sympy, rich and what only other commands need stay away."""

import sys

from ..command import run

LOADED = """
import sys
from gradcli.cli.main import main
sys.argv = "gradcli grad x**2*sin(y) x=2 y=3".split()
try:
    main()
except SystemExit:
    pass
print(*sorted(sys.modules), file=sys.stderr)
"""


def test_a_scalar_gradient_loads_the_first_families_only_and_nothing_heavy():
    loaded = set(run([sys.executable, "-c", LOADED]).stderr.split())
    assert not loaded & {"sympy", "mpmath", "rich", "scipy", "matplotlib", "json", "multiprocessing"}
    families = {name for name in loaded if name.startswith("gradcli.rules.")}
    assert "gradcli.rules.arithmetic" in families
    assert not families & {
        f"gradcli.rules.{name}" for name in ("spectral", "solve", "fourier", "special", "einsum", "scan")
    }
    others = ("api", "nn", "linalg", "func", "exact", "check", "fft", "special", "optim", "schema")
    assert not loaded & {f"gradcli.{name}" for name in others}


UNCHANGED = """
import builtins, gc, os, signal, sys, threading, warnings
def settings():
    return gc.get_threshold(), gc.isenabled(), sys.getrecursionlimit(), sys.excepthook, sys.meta_path[:]
def state():
    return (
        settings(), list(warnings.filters), gc.get_freeze_count(), sys.path[:], sys.path_hooks[:], sys.displayhook,
        sys.stdout, [signal.getsignal(s) for s in sorted(signal.valid_signals())], threading.active_count(),
        dict(os.environ), os.getcwd(), sorted(vars(builtins)),
    )
before = state()
import gradcli
assert state() == before
assert 'numpy' not in sys.modules
import numpy
before = settings(), numpy.geterr()
x = gradcli.tensor([1.0, 2.0], requires_grad=True)
(gradcli.sin(x) / x).sum().backward()
assert (settings(), numpy.geterr()) == before
"""


def test_neither_import_nor_use_changes_what_belongs_to_the_process():
    done = run([sys.executable, "-c", UNCHANGED])
    assert done.returncode == 0, done.stderr
