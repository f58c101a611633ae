"""Checked functions that do what no function should: the others' verdicts are kept, and the command ends in time."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOSTILE = """
import ctypes, os, random, signal, subprocess, sys, threading, time, warnings
import numpy as np
import gradcli

forked = []

def checked(f):
    return gradcli.check(at={"x": [1.0, 2.0]}, grad=lambda x: 2 * x)(f)

@checked
def first(x): return (x * x).sum()
@checked
def sleeps(x): time.sleep(1e6)
@checked
def spins(x):
    while True:
        try:
            while True: pass
        except BaseException: pass
@checked
def deaf(x): signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()); time.sleep(1e6)
@checked
def kills(x): os.kill(os.getpid(), signal.SIGKILL)
@checked
def leaves(x): os._exit(0)
@checked
def exits(x): sys.exit(3)
@checked
def crashes(x): ctypes.string_at(0)
@checked
def interrupts(x): raise KeyboardInterrupt
@checked
def forks(x):
    if not forked: forked.append(os.fork())
    return (x * x).sum()
@checked
def threads(x): threading.Thread(target=time.sleep, args=(1000,)).start(); return (x * x).sum()
@checked
def closes(x): os.closerange(0, 200); return (x * x).sum()
@checked
def changes(x):
    os.chdir("/"); np.seterr(all="raise"); warnings.simplefilter("error"); np.random.seed(1); random.seed(1)
    return (x * x).sum()
@checked
def silent(x): sys.stdout.close(); sys.stderr.close(); return (x * x).sum()
@checked
def spawns(x): subprocess.Popen(["sleep", "1000"], start_new_session=True); return (x * x).sum()
@checked
def writes(x):
    for fd in range(3, 60):
        try: os.write(fd, b"junk")
        except OSError: pass
    return 1.0
@checked
def breaks(x): threading.excepthook = None; return (x * x).sum()
@checked
def deletes(x): os.mkdir("d"); os.chdir("d"); os.rmdir("../d"); raise ValueError
@checked
def huge(x): return 10**400
@checked
def last(x):
    assert not any(f[0] == "error" for f in warnings.filters) and os.path.exists("hostile.py")
    return (x * x).sum()
"""
PASSED = "first forks threads changes silent spawns breaks last".split()
VERDICTS = {name: "pass" if name in PASSED else "error" for name in re.findall(r"def (\w+)\(x\)", HOSTILE)}
LATE = ("sleeps", "spins", "deaf")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("jobs", [1, 4])
def test_verdicts_are_kept(jobs, tmp_path):
    (tmp_path / "hostile.py").write_text(HOSTILE)
    command = [sys.executable, "-m", "gradcli", "gradcheck", "hostile.py", "--timeout", "2", "-j", str(jobs)]
    start = time.monotonic()
    run = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert time.monotonic() - start < 30
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    assert {row[1]: row[0] for row in rows} == VERDICTS
    assert [row[1] for row in rows] == list(VERDICTS)
    assert run.returncode == 3
    assert "defect" not in run.stdout
    assert all("takes longer than 2 s" in row[5] for row in rows if row[1] in LATE)
