"""Long-running checks: what is shown while they run, and what remains when they are interrupted."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

from ..command import SETTINGS, run

CHECKS = """
import time
import numpy as np
import gradcli

def f(x, pause=3600):
    if len(x) > 2:
        time.sleep(pause)
    return (x**2).sum()

for name, size in (("first", 2), ("endless", 50), ("last", 2)):
    gradcli.check(f, at={"x": np.ones(size)}, grad=lambda x: 2 * x, name=name)
"""
SLOW = """
import time

def f(x):
    time.sleep(0.1)
    return (x**2).sum()

def g(x):
    return 2 * x
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in SETTINGS.items():
        monkeypatch.setenv(name, text)
    (tmp_path / "checks.py").write_text(CHECKS)
    (tmp_path / "slow.py").write_text(SLOW)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in a shell's background
    yield tmp_path
    signal.signal(signal.SIGINT, before)


def start(*words, **more):
    return subprocess.Popen(
        [sys.executable, "-m", "gradcli", "gradcheck", *words], stdout=subprocess.PIPE, text=True, **more
    )


def test_a_verdict_is_printed_as_soon_as_it_is_known(folder):
    process = start("checks.py", "-f", "tsv")
    line = process.stdout.readline()  # the second check never ends
    process.kill()
    assert line.startswith("pass\tfirst\t")


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_run_prints_its_finished_checks(folder, jobs, number):
    checks = CHECKS.replace('("last", 2)', '("last", 2), ("endless too", 50)')  # starts when "last" is done
    ready = "time.sleep(0.3); open(f'{time.monotonic()}.ready', 'w'); time.sleep"  # the command has printed by then
    (folder / "checks.py").write_text(checks.replace("time.sleep", ready))
    process = start("checks.py", "-f", "json", "-j", jobs, "--junit", "report.xml", stderr=subprocess.PIPE)
    while len(list(folder.glob("*.ready"))) < int(jobs) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(number)
    printed, said = process.communicate()
    names = ["first", "last"] if jobs == "2" else ["first"]
    running = ["endless", "endless too"][: int(jobs)]
    assert process.returncode == 130
    verdicts = {check["name"]: check["verdict"] for check in json.loads(printed)["checks"]}
    assert verdicts == dict.fromkeys(names, "pass") | dict.fromkeys(running, "inconclusive")
    assert set(re.findall(r'testcase [^>]* name="([\w ]+)"', (folder / "report.xml").read_text())) == set(verdicts)
    counts = rf"{len(names)} passed, {len(running)} inconclusive in \S+ s"
    assert re.fullmatch(rf"{counts}\ninterrupted: {len(names)} of 4 checks done\n", said)


@pytest.mark.parametrize(
    ("jobs", "pause"),  # compiled code can be stopped only in a process of its own
    [*((n, "time.sleep(pause)") for n in "12"), ("2", "(lambda a: a @ a)(np.ones((30000, 30000), int))")],
    ids=["one process", "two processes", "compiled code"],
)
def test_a_check_ends_at_its_time_limit(folder, jobs, pause):
    (folder / "checks.py").write_text(CHECKS.replace("time.sleep(pause)", pause))
    process = start("checks.py", "-f", "tsv", "-j", jobs, "--timeout", "1")
    lines = process.communicate()[0].splitlines()
    assert [line.split("\t")[:2] for line in lines] == [["pass", "first"], ["error", "endless"], ["pass", "last"]]
    assert lines[1].endswith("this takes longer than 1 s")
    assert process.returncode == 3


def run_on_terminal(words):
    child, terminal = pty.fork()
    if not child:
        os.execv(sys.executable, words)
    shown = b""
    try:
        while data := os.read(terminal, 4096):
            shown += data
    except OSError:  # end of output
        pass
    os.waitpid(child, 0)
    return shown


def test_a_sweep_leaves_no_progress_bar_on_a_terminal(folder):
    (folder / "points.csv").write_text("x,y\n1,2\n3,4\n")
    words = [sys.executable, "-m", "gradcli", "sweep", "x*y", "points.csv"]
    assert run_on_terminal(words) == b"x,y,value,d_x,d_y\r\n1.0,2.0,2.0,2.0,1.0\r\n3.0,4.0,12.0,4.0,3.0\r\n"
    shown = run_on_terminal([*words, "-o", "out.csv"])
    assert b"2 of 2 rows" in shown
    assert shown.endswith(b"\r\x1b[1A\x1b[2K")  # moves up and clears the line of the bar


@pytest.mark.parametrize("jobs", [(), pytest.param(("-j", "2"), marks=pytest.mark.nightly)])
def test_progress_is_shown_only_on_a_terminal(folder, jobs):
    words = [sys.executable, "-m", "gradcli", "gradcheck", "slow.py:f", "--grad", "g", "--shape", "x=35", *jobs]
    shown = run_on_terminal(words)
    assert re.search(rb"\r\x1b\[2Kcall \d+  f\r", shown)
    assert b"1 passed" in shown.rpartition(b"\x1b[2K")[2]
    quiet = run(words, folder)
    assert quiet.stdout.startswith("pass\tf\t")
    assert re.fullmatch(r"1 passed in \S+ s\n", quiet.stderr)
