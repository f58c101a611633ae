"""What finding and shrinking a wrong element costs."""

import time

import numpy as np
import pytest

from gradcli.check.check import Check


def run(size, wrong, **options):
    """Check sum x^3 + sum x_i x_{i+1} with some elements of its gradient wrong; return the report and the calls."""
    calls = []

    def value(x):
        calls.append(x)
        return (x**3).sum() + (x[1:] * x[:-1]).sum()

    def gradient(x):
        g = 3 * x**2 + np.append(x[1:], 0) + np.insert(x[:-1], 0, 0)
        g[wrong] *= 1.5
        return g

    return Check(value, {"x": (size,)}, grad=gradient, **options).run(), len(calls)


@pytest.mark.parametrize("place", [0, 4321, 9_999])
def test_one_wrong_element_among_many_costs_little(place):
    report, calls = run(10_000, place, fast=True)
    assert report.verdict == "fail"
    assert report.inputs[0].worst.place == (place,)
    assert calls < 1000


def test_no_point_is_shrunk_that_would_not_be_shown():
    (right, least), (wrong, most) = run(60, []), run(60, 7)
    assert (right.verdict, wrong.verdict) == ("pass", "fail")
    assert most < 2 * least


def test_a_small_point_is_shrunk():
    report, _ = run(3, 1)
    assert any(note.startswith("the smallest failing point found: x=[") for note in report.notes)
    assert not any("-0.0" in note for note in report.notes)


def test_a_small_point_has_no_zeros_of_its_own():
    report = Check(lambda x: x @ x, {"x": (3,)}, grad=lambda x: x).run()
    assert [finding.kind for finding in report.diagnosis] == ["factor"]


def test_what_is_surely_wrong_is_not_looked_at_again():
    report, calls = run(500, slice(None))
    assert report.verdict == "fail"
    assert calls < 20 * 500


@pytest.mark.parametrize("size, fast", [(41, True), (400, False)])
def test_one_slow_call_changes_nothing(size, fast):
    """What else runs on a machine may delay a call, which makes no function a costly one."""

    def worst(delayed: int):
        calls = []

        def value(x):
            calls.append(x)
            time.sleep(0.02 * (len(calls) == delayed))
            return (x**3).sum()

        report = Check(value, {"x": np.linspace(1, 2, size)}, grad=lambda x: 3.01 * x**2, fast=fast).run()
        return repr(report.inputs)

    assert {worst(delayed) for delayed in (1, 2, 3, 4)} == {worst(0)}
