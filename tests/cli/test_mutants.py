"""What `gradcli mutate` says while it runs, by a clock that the tests move."""

import pytest

from gradcli.cli.commands.mutants import MutantProgress
from gradcli.results.studies import MutantRun


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def progress():
    clock = Clock()
    with MutantProgress(clock) as made:
        made.clock = clock
        yield made


def run(name, killed):
    return MutantRun(name, None, 0.1, killed, False, 1.0, None)


def test_a_short_run_is_silent(progress, capsys):
    progress.waits(1.0)
    progress.starts(20)
    for k in range(20):
        progress.clock.now += 0.2
        progress.waits(0.2)
        progress.ends(run(f"m{k}", k % 2 == 0))
    assert capsys.readouterr().err == ""


def test_a_slow_command_is_said_to_run(progress, capsys):
    for _ in range(24):
        progress.clock.now += 0.5
        progress.waits(progress.clock.now - 100)
    assert capsys.readouterr().err == "note: running the command without a mutant: 6 s\n"


def test_the_first_result_and_every_survivor_are_told_at_once(progress, capsys):
    progress.clock.now += 6
    progress.starts(40)
    progress.ends(run("sign", True))
    assert capsys.readouterr().err == "note: killed: sign\n"
    progress.ends(run("zero", True))
    assert capsys.readouterr().err == ""
    progress.ends(run("factor 1+1e-08", False))
    assert capsys.readouterr().err == "note: survived: factor 1+1e-08\n"
    progress.clock.now += 31
    progress.waits(1.0)
    assert capsys.readouterr().err == "note: 3 of 40 mutants, 1 survived, about 37 s left\n"


def test_a_run_that_turns_out_long_says_how_far_it_is(progress, capsys):
    progress.starts(40)
    for k in range(4):
        progress.clock.now += 1
        progress.ends(run(f"m{k}", False))
    assert capsys.readouterr().err == ""
    progress.clock.now += 2
    progress.waits(0.5)
    assert capsys.readouterr().err == "note: 4 of 40 mutants, 4 survived, about 36 s left\n"
