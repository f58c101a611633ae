"""Signals at any moment of any command, and workers that are killed."""

import random
from pathlib import Path

from . import functions, model
from .outside import Attempt, group
from .places import PRINTERS, WRITERS, drawn, prepare

LONG = (
    "gradcheck slow.py -j {jobs}", "gradcheck slow.py -j {jobs} --json",
    "gradcheck slow.py -j {jobs} -o out.html --junit out.xml", "gradcheck slow.py:f --search 1000 --shape x=3",
    "gradcheck 'sum(sin(x)**2)' x='ones(400)' --samples 50", "sweep 'sin(x)*x' many.csv -o out.csv -j {jobs}",
    "sweep slow.py:one many.csv -o out.csv -j {jobs}", "sweep 'sin(x)*x' many.csv",
    "mutate slow.py:g -- sh -c 'sleep 1; python use.py'", "mutate slow.py:g -- python -m pytest -q test_slow.py",
    "precision 'exp(x)-1' x=1:2 --points 1000", "lock slow.py -o out.lock", "symbolic 'det(x)' --shape x=5,5",
    "jacobian 'sin(x)*x' x='ones(2500)'", "grad 'x*x' --digits 3000 x=2",
    "hessian 'sum(sin(x))' x='ones(900)' -o out.npy", "plot 'sin(x)*y' --over x=-1:1 --over y=-1:1 --points 2000",
    "eval slow.py:one x=1", "run slow.py", "gradcheck 'cmd:{python} {model} pipe 1 {kind}' x0='[1,2]' --timeout 3",
    "grad 'svd(x)[0].sum()' x='randn(300,300)'", "trace 'sin(x)' x='ones(3000)'",
)  # fmt: skip
"""Commands that take a while."""
SLOW = """import time
import gradcli
import numpy as np
def one(x): time.sleep(0.01); return x * x
def g(x): time.sleep(0.01); return 2 * x
@gradcli.check(at={"x": np.ones(20)}, grad=g)
def f(x): time.sleep(0.01); return x @ x
for k in range(6):
    gradcli.check(at={"x": np.ones(3) + k}, grad=g, name=f"f{k}")(f)
"""


def long_line(rng: random.Random) -> str:
    """Return a command line that takes a while, or one that prints or writes."""
    prepare()
    Path("slow.py").write_text(SLOW)
    Path("test_slow.py").write_text("from slow import g\ndef test_g(): assert g(1.0) == 2\n")
    Path("many.csv").write_text("x\n" + "1.5\n" * 20000)
    kind = rng.choice(("nothing", "slow", "ignores", "child"))
    text = rng.choice((*LONG, *LONG, *PRINTERS, *(text for text, _ in WRITERS)))
    place = {"model": str(model.__file__), "python": '"$GRADCLI_PYTHON"', "kind": kind, "jobs": rng.choice("14")}
    return drawn(rng, text, out="out.json", **place)


LEFT = (
    '; for i in $(seq 100); do pgrep -s 0 -f "slow.py|use.py|model.py|sleep 1" | grep -vx $$ > left || break; '
    "sleep 0.2; done; exit $c"
)
"""The end of a line, which lists the remaining processes; on a busy machine, they take a while to end."""


@group
def interrupted(rng: random.Random) -> Attempt:
    """Return a line that sends one or two signals to a command."""
    line, name = long_line(rng), rng.choice(("INT", "TERM", "INT", "TERM", "HUP", "PIPE"))
    wait = rng.choice((rng.uniform(0.15, 0.5), rng.uniform(0.3, 2.0)))
    twice = rng.choice(("", f"sleep {rng.uniform(0, 0.2):.2f}; kill -{name} $p 2>/dev/null; "))
    start = f'set -m; (exec "$GRADCLI_PYTHON" -m gradcli {line} > out 2> err) & p=$!; set +m; sleep {wait:.2f}; '
    end = f"kill -{name} $p 2>/dev/null; {twice}wait $p; c=$?; cat err >&2"
    codes = (0, 1, 2, 3, 4, 130, *({"INT": (130,), "TERM": (143,), "HUP": (129,), "PIPE": (141,)}[name]))
    return Attempt(start + end + LEFT, codes=codes, judge=judge)


def judge(folder: Path, _: str) -> str:
    """Return which temporary files and processes are left over, or ""."""
    temporary = [p.name for p in folder.iterdir() if p.name.startswith(".gradcli-") or p.name.endswith(".tmp")]
    running = (folder / "left").read_text().split()
    hit = (folder / "err").read_text()
    if "Traceback" in hit and "KeyboardInterrupt" in hit and "gradcli" not in hit:  # while Python was starting
        return ""
    return f"left: {temporary} {len(running)} processes" if temporary or running else ""


@group
def killed(rng: random.Random) -> Attempt:
    """Return a line in which one of several workers is killed; the checks keep their verdicts."""
    functions.write(rng, f"__import__('time').sleep(0.01); {rng.choice(('pass', 'x @ x'))}")
    name = rng.choice(("KILL", "SEGV", "STOP", "TERM", "INT"))
    line = f"gradcheck checks.py -j {rng.choice((2, 4))} --timeout 4 --json"
    worker = "$(pgrep -P $(pgrep -P $p | head -1) | head -1)"
    kill = f"sleep {rng.uniform(0.2, 0.8):.2f}; kill -{name} {worker} 2>/dev/null; wait $p"
    return Attempt(f'"$GRADCLI_PYTHON" -m gradcli {line} & p=$!; {kill}', codes=(1, 3), json=True)
