"""Every command keeps its time limit, whatever it is doing."""

import json
import sys
import time

import pytest

from ..command import run, shell

PATIENCE = 100
"""Seconds after which even a slow, busy machine has stopped at a limit of 1 s. Without a limit, these take hours."""
ENTRIES = "[[2,1,3,4,5,6,7,8],[1,2,3,4,5,6,7,9],[3,1,4,1,5,9,2,6],[5,3,5,8,9,7,9,3],[2,3,8,4,6,2,6,4],\
[3,3,8,3,2,7,9,5],[1,4,1,4,2,1,3,5],[6,2,3,7,3,0,9,5]]"
SLOW = [  # (command, exit code, part of its output: an error, or a note about a missing cross-check)
    ("grad 'sum(svdvals(x))' x='randn(2000, 2000)'", 2, "takes longer than 1 s"),
    ("grad 'sum(x)' x='svdvals(randn(2000, 2000))'", 2, "takes longer than 1 s"),
    ("vjp 'svdvals(x)' x='randn(2000, 2000)' -g 'ones(2000)'", 2, "takes longer than 1 s"),
    ("graph 'sum(svdvals(x))' x='randn(2000, 2000)'", 2, "takes longer than 1 s"),
    ("gradcheck 'sum(svdvals(x))' x='randn(2000, 2000)'", 2, "takes longer than 1 s"),
    ("grad 'exp(gamma(x)) + sin(x)' x=2.5 --digits 10000", 2, "take longer than 1 s"),
    (f"grad 'det(A)' A='{ENTRIES}' --symbolic", 2, "take longer than 1 s"),
    (f"gradcheck 'det(A)' A='{ENTRIES}' --symbolic", 0, '"verdict": "pass"'),
    ("gradcheck 'exp(gamma(x)) + sin(x)' x=2.5 --digits 10000", 0, "it takes too long"),
    ("grad 'gamma(1e8*x)' x=1 --check", 4, "the formulas take longer than"),
    ("precision 'x**x**x' x=31:1000", 2, "takes longer than 1 s"),
    ("symbolic 'x**9**9' --at x=3", 2, "take longer than 1 s"),
]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [pytest.param(*row, id=row[0], marks=[pytest.mark.nightly] if 0 < k < 5 else []) for k, row in enumerate(SLOW)],
)
def test_the_timeout_is_kept(words, code, says):
    start = time.monotonic()
    found = shell(f"gradcli {words} --timeout 1 --json")
    assert time.monotonic() - start < PATIENCE
    document = json.loads(found.stdout)
    late = found.returncode == 2 and "longer than 1 s" in document["error"]["message"]
    assert late or (found.returncode == code and says in json.dumps(document)), found.stderr


def test_expressions_have_a_default_limit_of_cpu_time():
    code = "import gradcli.lang.limits as p; p.CPU_SECONDS = 1; from gradcli.__main__ import main; main()"
    start = time.monotonic()
    found = run([sys.executable, "-c", code, "grad", "sum(svdvals(x))", "x=randn(2000, 2000)"])
    assert time.monotonic() - start < PATIENCE
    assert found.returncode == 2 and "takes longer than 1 s of CPU time" in found.stderr
    assert "--timeout" in found.stderr


def test_a_slow_reader_loses_nothing():
    """The 96 kB of output fill a pipe, but take only a hundredth of the time limit to compute."""
    found = shell("gradcli grad 'sum(x*x)' x='ones(8000)' --timeout 3 | (sleep 4; cat) | wc -l")
    assert found.stdout.strip() == "8000"
