"""Mutants match their names and leave no trace; tests/cases/guard/mutate.txt tests the commands."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from gradcli.guard.mutate import Mutator, SourceFunction, source_mutants
from tests.test_cases import cases_of

PROJECT = cases_of(Path(__file__).parents[1] / "cases" / "guard" / "mutate.txt")[0].files


def fingerprint(folder: Path) -> dict[str, str]:
    return {str(p): hashlib.md5(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()}


def test_an_interrupt_leaves_nothing_behind(tmp_path):
    for name, text in PROJECT.items():
        (tmp_path / name).write_text(text)
    before = fingerprint(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "gradcli", "mutate", "losses.py:grad", "--", sys.executable, "-m", "pytest"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTEST_DEBUG_TEMPROOT": "/tmp"},
    )
    while not list(tmp_path.glob("gradcli-mutate-*/measured-*")) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert fingerprint(tmp_path) == before
    assert not list(tmp_path.glob("gradcli-mutate-*"))


def test_mutants_of_the_source():
    source = "def g(x, i):\n    y = x[i] * 3.0 - x[i - 1]\n    y += 2\n    return -y\n"
    names = {m.name for m in source_mutants(SourceFunction(source, ["g"], "f.py"))}
    assert {
        "line 2: x[i] * 3.0 - x[i - 1] -> x[i] * 3.0",
        "line 2: x[i] * 3.0 - x[i - 1] -> x[i] * 3.0 + x[i - 1]",
        "line 2: x[i] -> x[i - 1]",
        "line 2: 3.0 -> 4.0",
        "line 2: 1 -> 2",
        "line 3: y += 2 -> y -= 2",
        "line 3: y += 2 -> pass",
        "line 4: -y -> y",
    } <= names


def test_calls_in_processes_that_a_command_forks_are_recorded(tmp_path):
    path = tmp_path / "grads.py"
    path.write_text(
        "import gradcli\n\n\ndef grad(x):\n    return 3 * x**2\n\n\n"
        'gradcli.check(lambda x: (x**3).sum(), at={"x": [1.0, 2.0]}, grad=grad)\n'
    )
    with Mutator(str(path), "grad", [sys.executable, "-m", "gradcli", "gradcheck", str(path)]) as mutator:
        assert mutator.run("record")[0] == 0
        report = mutator.read_report()
    sizes = {mutant.name: size["relative"] for mutant, size in zip(mutator.mutants, report["sizes"], strict=True)}
    assert sizes["transposition"] == 0
    assert sizes["sign"] == 2
