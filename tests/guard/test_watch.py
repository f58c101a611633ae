"""Reports on watched derivatives; tests/cases/guard/watch.txt and watch_solvers.txt test the commands."""

import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.guard.in_command.gradcli_importlib_bootstrap import ending, frameworks, notes
from gradcli.guard.solver_uses import unpacked
from gradcli.guard.watch import merge
from gradcli.guard.watched import FIRST_SECONDS, LEAST_SECONDS, TimeLimit, brief_text, worst_of
from gradcli.results.checks import CheckReport, Finding
from gradcli.results.studies import WatchedDerivative


def test_a_point_skipped_for_lack_of_time_hides_no_error():
    derivative = SimpleNamespace(role="jac of minimize", name="g", calls=4, caller=None)
    hung = CheckReport("g", None, None, "error", 30.0, message="this takes longer than 30 s")
    late = CheckReport("g", None, None, "inconclusive", 0.0, message="not judged")
    use = SimpleNamespace(claim=len, drawn=None)
    found = worst_of(derivative, [(use, late), (use, hung)])
    assert (found.report.verdict, found.points) == ("inconclusive", 0)
    assert "this takes longer" in found.report.message
    assert worst_of(derivative, [(use, late)]).report.verdict == "inconclusive"


def noted_calls(monkeypatch, arguments):
    """Return the entry of a rule that is called with these arguments, and the numbers of the calls that are noted."""
    watch = notes.Watch({"points": 3})
    monkeypatch.setattr(notes.Watch, "current", watch)
    noted = []
    for number, x in enumerate(arguments, 1):
        entry = frameworks.known_derivative(some_rule, lambda: ("backward", some_rule), [x])
        if entry is not None:
            frameworks.note_framework(entry, "torch", some_rule, some_rule, [number], [True], [])
            noted.append(number)
    (entry,) = watch.derivatives.values()
    assert entry.calls == len(arguments)
    numbers = [use.number for use in entry.uses(3)]
    assert numbers[:2] == [1, noted[-1]]
    assert 1 < numbers[2] < noted[-1]
    return noted


def test_some_of_many_calls_are_noted(monkeypatch):
    noted = noted_calls(monkeypatch, 1000 * [np.ones(3)])
    assert noted[:3] == [1, 2, 3]
    assert noted[-1] > 950
    assert len(noted) < 300
    assert {number % 2 for number in noted[130:]} == {0, 1}  # two layers may share a function


def test_few_calls_with_large_arguments_are_noted(monkeypatch):
    large = SimpleNamespace(shape=(notes.LARGE_ARRAY, 2))
    assert noted_calls(monkeypatch, 20 * [large]) == [1, 2, 4, 8, 16]


def test_calls_are_noted_for_each_shape(monkeypatch):
    epoch = [*(99 * [np.ones(32)]), np.ones(5)]  # the last batch is smaller
    noted = noted_calls(monkeypatch, 9 * epoch)
    assert set(range(100, 901, 100)) <= set(noted)
    assert len(noted) < 300
    lengths = noted_calls(monkeypatch, [np.ones(n) for n in range(1000)])
    assert len(lengths) < 400


def some_rule(x):
    return x


def test_functions_without_an_entry_are_never_noted(monkeypatch):
    watch = notes.Watch({"points": 3})
    monkeypatch.setattr(notes.Watch, "current", watch)
    asked = []
    for _ in range(3):
        assert frameworks.known_derivative(some_rule, lambda: asked.append(1)) is None
    assert asked == [1]
    assert not watch.derivatives


def test_results_of_processes_are_merged_to_the_worst_and_sorted_by_file():
    def found(file, line, verdict, points, role="jac"):
        return WatchedDerivative(role, "g", points, 10 * points, CheckReport("g", file, line, verdict, 0.0))

    merged = merge(
        [
            found("b.py", 3, "pass", 1),
            found("a.py", 9, "pass", 2),
            found("b.py", 3, "fail", 4),
            found(None, None, "pass", 1),
        ]
    )
    assert [(item.report.file, item.report.verdict, item.points, item.calls) for item in merged] == [
        (None, "pass", 1, 10),
        ("a.py", "pass", 2, 20),
        ("b.py", "fail", 5, 50),
    ]
    apart = merge([found("a.py", 3, "pass", 1, "jac"), found("a.py", 3, "fail", 1, "hess")])
    assert [(item.role, item.report.verdict) for item in apart] == [("hess", "fail"), ("jac", "pass")]


def test_a_fork_that_is_ended_before_its_first_step_ends():
    script = """
import os, signal
from gradcli.guard.in_command.gradcli_importlib_bootstrap import processes
early = lambda: os.kill(os.getpid(), signal.SIGTERM)
os.register_at_fork(after_in_child=early)  # before that of the next line
processes.watch_forks()
processes.end_at_termination(lambda: print("notes of the parent", flush=True))
number = os.fork()
if number == 0:
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]), flush=True)
print(signal.pthread_sigmask(signal.SIG_BLOCK, ()), flush=True)
os.kill(os.getpid(), signal.SIGTERM)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("-15\nset()\nnotes of the parent\n", "")
    assert done.returncode == -15


def test_only_a_wait_for_threads_of_the_same_process_is_endless(tmp_path):
    def waits(text):
        (tmp_path / "syscall").write_text(text)
        return ending.is_waiting(tmp_path / "syscall")

    number = ending.FUTEX
    assert waits(f"{number} 0x7f00 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd 0x7ff4")
    assert not waits(f"{number} 0x7f00 0x189 0x0 0x7ffe 0x0 0xffffffff 0x7ffd 0x7ff4")  # with a time limit
    assert not waits(f"{number} 0x7f00 0x109 0x0 0x0 0x0 0xffffffff 0x7ffd 0x7ff4")  # shared with other processes
    assert not waits("running")


def test_long_texts_keep_their_beginning_and_end():
    text = "begin " + 1000 * "x" + " end"
    assert brief_text("short") == "short"
    assert brief_text(text).startswith("begin ")
    assert brief_text(text).endswith(" end")
    assert len(brief_text(text)) < 320


@pytest.mark.parametrize("again", ["rerun with --calls 600", "rerun without --calls"])
def test_calls_are_named_only_if_the_user_gave_a_limit(again):
    text = f"undecided after 10 calls; {again}"
    report = CheckReport("g", None, None, "inconclusive", 1.0, (), (Finding("undecided", text),), text)
    use = SimpleNamespace(claim=len, drawn=None)
    derivative = SimpleNamespace(role="jac", name="g", calls=4, caller=None)
    assert worst_of(derivative, [(use, report)], 10).report.message == text
    free = worst_of(derivative, [(use, report)]).report
    assert "--calls" not in free.message + free.diagnosis[0].text
    assert "after 10 calls" in free.message


def test_packed_jacobians_are_unpacked():
    whole = np.array([[1.0, 2, 0, 0], [3, 4, 5, 0], [6, 7, 8, 9], [0, 10, 11, 12]])
    packed = np.zeros((4, 4))
    for i, j in zip(*np.nonzero(whole), strict=True):
        packed[i - j + 1, j] = whole[i, j]
    assert (unpacked(packed, 4, 2, 1) == whole).all()
    assert (unpacked(np.vstack([packed, np.ones((2, 4))]), 4, 2, 1) == whole).all()
    assert unpacked(whole[:2], 4, 2, 1).shape == (2, 4)  # too few rows: the report says so


def test_checks_may_take_as_long_as_the_run():
    now = time.monotonic()
    long, short, given = TimeLimit.of(None, 500.0), TimeLimit.of(None, 0.5), TimeLimit.of(7.0, 500.0)
    assert long.more - now == pytest.approx(500, abs=5)
    assert long.first - long.more == FIRST_SECONDS
    assert short.more - now == pytest.approx(LEAST_SECONDS, abs=5)
    assert given.first == given.more
    assert given.more - now == pytest.approx(7, abs=5)


def test_a_wrapper_of_a_package_is_named_after_the_users_function(tmp_path):
    (tmp_path / "x-packages").mkdir()
    wrapper = tmp_path / "x-packages" / "wrapper.py"
    wrapper.write_text("class Holder:\n    pass\ndef wrap(f):\n    def inner(x): return f(x)\n    return inner\n")
    space = {}
    exec(compile(wrapper.read_text(), str(wrapper), "exec"), space)

    def users(x):
        return x

    assert notes.place_of_function(space["wrap"](users))[3] == "users"
    assert notes.place_of_function(space["wrap"](len))[3] == "inner"
