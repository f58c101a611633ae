"""Numbers and reports of watched derivatives; tests/cases/watch.txt and watch_solvers.txt have the commands."""

import pickle
from types import SimpleNamespace

import numpy as np

from gradcli.check import watched
from gradcli.check.in_command.gradcli_watch_importlib_bootstrap import Derivative, Use
from gradcli.check.watched import worst_of
from gradcli.show.check_results import CheckReport


def test_a_point_without_time_left_hides_no_error():
    derivative = SimpleNamespace(role="jac of minimize", name="g", calls=4)
    hung = CheckReport("g", None, None, "error", 30.0, message="this takes longer than 30 s")
    late = CheckReport("g", None, None, "inconclusive", 0.0, message="not judged")
    use = SimpleNamespace(claim=len)
    found = worst_of(derivative, [(use, late), (use, hung)])
    assert (found.report.verdict, found.points) == ("error", 1)
    assert worst_of(derivative, [(use, late)]).report.verdict == "inconclusive"


def test_what_is_slow_leaves_time_for_the_others(monkeypatch):
    """Each is judged once before one is judged again, and what is known by then is told each time."""
    derivatives = [Derivative("jac of minimize", name, "fit.py", 1, 3) for name in "ab"]
    for derivative in derivatives:
        for number in (1, 2, 3):
            derivative.keep(Use(number, "whole", None, None, (), 0, np.full(1, number), *[None] * 4, None, None))
    judged = []

    def run_in_time(checks, *_):
        judged.extend((check.derivative.name, check.use.number) for check in checks)
        for i, check in enumerate(checks):  # the last is one for which no time is left
            yield CheckReport(check.name, "fit.py", 1, "pass" if i < 5 else "inconclusive", 1.0 if i < 5 else 0.0)

    monkeypatch.setattr(watched, "run_in_time", run_in_time)
    found = watched.judge_uses(derivatives, {"calls": None, "points": 3, "timeout": 1.0}, 9.0)
    known = [(number, item.points) for number, item in map(pickle.loads, found)]
    assert judged == [("a", 1), ("b", 1), ("a", 3), ("b", 3), ("a", 2), ("b", 2)]
    assert known == [(0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 2)]
