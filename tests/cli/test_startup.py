"""A short command imports little: families of the table, sympy, rich and what only other commands need stay away."""

import sys

import pytest

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


COUNTED = """
import sys
from gradcli.cli.main import main
calls, crossed = 0, 0
def watch(frame, event, _):
    global calls, crossed
    if event == "call":
        name = frame.f_globals.get("__name__", "")
        calls += frame.f_code.co_filename == "f.py"
        caller = frame.f_back.f_globals.get("__name__", "") if frame.f_back else ""
        crossed += name.startswith("gradcli.program") and caller.startswith("gradcli.check")
sys.setprofile(watch)
main(sys.argv[1:])
sys.setprofile(None)
files = {m.__file__ for name, m in sys.modules.items() if name.partition(".")[0] == "gradcli"} - {None}
print(len(files), crossed, calls, file=sys.stderr)
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "f.py").write_text("def f(x):\n    return x**2\n\n\ndef g(x):\n    return 3 * x\n")
    (tmp_path / "points.csv").write_text("x,y\n1,2\n2,3\n3,4\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "most"),
    [("grad x**2*sin(y) x=2 y=3", 40), ("gradcheck f.py:f --grad g x=3 -q", 45), ("sweep x**2*sin(y) points.csv", 50)],
)
def test_a_command_runs_code_of_few_files(words, most, files):
    loaded, crossed, calls = map(int, run([sys.executable, "-c", COUNTED, *words.split()], files).stderr.split())
    assert loaded <= most
    assert crossed <= calls


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
