"""Reports on watched derivatives; tests/cases/guard/watch.txt and watch_solvers.txt test the commands."""

from types import SimpleNamespace

from gradcli.guard.in_command.gradcli_importlib_bootstrap import frameworks, notes
from gradcli.guard.watch import merge
from gradcli.guard.watched import worst_of
from gradcli.results.checks import CheckReport
from gradcli.results.studies import WatchedDerivative


def test_a_point_skipped_for_lack_of_time_hides_no_error():
    derivative = SimpleNamespace(role="jac of minimize", name="g", calls=4)
    hung = CheckReport("g", None, None, "error", 30.0, message="this takes longer than 30 s")
    late = CheckReport("g", None, None, "inconclusive", 0.0, message="not judged")
    use = SimpleNamespace(claim=len)
    found = worst_of(derivative, [(use, late), (use, hung)])
    assert (found.report.verdict, found.points) == ("inconclusive", 1)
    assert "this takes longer" in found.report.message
    assert worst_of(derivative, [(use, late)]).report.verdict == "inconclusive"


def test_every_call_is_counted_and_large_arguments_are_rarely_copied(monkeypatch):
    watch = notes.Watch({"points": 3})
    monkeypatch.setattr(notes.Watch, "current", watch)
    key, file, line, name = notes.identify(watch.derivative)
    copied = []
    for number in range(1, 21):
        if frameworks.is_due(watch.derivative, [frameworks.ALWAYS_COPIED, 1]):
            copied.append(number)
            found = watch.derivatives.setdefault(key, notes.Derivative("backward", name, file, line, 3))
            found.calls += 1
    assert copied == [1, 2, 4, 8, 16]
    assert watch.derivatives[key].calls == 20


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
