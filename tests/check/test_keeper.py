"""A fork reports what it begins and finishes; tests/cases/check/crash.txt tests the command."""

import os
import signal

from gradcli.check.keeper import FoundByForks, Keeper, follow_fork
from gradcli.results.checks import CheckReport


def followed(run):
    """Run a function in a fork, and return what it had begun, and what it had found."""
    reads, writes = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(reads)
        run(Keeper(writes))
        os._exit(0)
    os.close(writes)
    found = FoundByForks()
    begun = follow_fork(reads, number, found)
    os.close(reads)
    return begun, found, os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def test_finished_imports_and_checks_are_noted():
    def run(keeper):
        with keeper.importing("a.py"):
            pass
        keeper.begin(0)
        keeper.done(0, CheckReport("f", "a.py", 1, "pass", 0.1))
        keeper.show(1)

    begun, found, status = followed(run)
    assert (begun, status, found.shown) == (None, 0, 1)
    assert found.reports[0].verdict == "pass"


def test_what_was_running_when_the_process_died_is_known():
    def run(keeper):
        keeper.begin(3)
        os.kill(os.getpid(), signal.SIGKILL)

    begun, found, status = followed(run)
    assert (begun, status, found.reports) == ((3, ""), -signal.SIGKILL, {})


def test_an_import_that_raises_is_finished():
    def run(keeper):
        try:
            with keeper.importing("a.py"):
                raise ImportError
        except ImportError:
            os._exit(5)

    assert followed(run)[0] is None


def test_a_fork_that_leaves_a_process_behind_ends_all_the_same():
    ends = os.pipe()

    def run(keeper):
        if os.fork() == 0:  # holds the pipe to the parent open
            os.close(ends[1])
            os.read(ends[0], 1)
            os._exit(0)
        os._exit(4)

    begun, _, status = followed(run)
    assert (begun, status) == (None, 4)
    for end in ends:  # which ends the process that was left
        os.close(end)
