"""What finding and shrinking a wrong element costs."""

import pytest

from gradcli.check.check import Check

SIZE = 10_000


class Counted:
    """sum x^3 + sum x_i x_{i+1}, with its gradient, in which one element may be wrong."""

    def __init__(self, wrong):
        self.wrong, self.calls = wrong, 0

    def value(self, x):
        self.calls += 1
        return (x**3).sum() + (x[1:] * x[:-1]).sum()

    def gradient(self, x):
        g = 3 * x**2
        g[1:] += x[:-1]
        g[:-1] += x[1:]
        if self.wrong is not None:
            g[self.wrong] *= 1.5
        return g


@pytest.mark.parametrize("place", [0, 4321, SIZE - 1])
def test_one_wrong_element_among_many_costs_little(place):
    counted = Counted(place)
    report = Check(counted.value, {"x": (SIZE,)}, grad=counted.gradient, fast=True).run()
    assert report.verdict == "fail"
    assert report.inputs[0].worst.place == (place,)
    assert counted.calls < 1000


def test_no_point_is_shrunk_that_would_not_be_shown():
    counts = []
    for wrong in (None, 7):
        counted = Counted(wrong)
        verdict = Check(counted.value, {"x": (60,)}, grad=counted.gradient).run().verdict
        assert verdict == ("pass" if wrong is None else "fail")
        counts.append(counted.calls)
    assert counts[1] < 2 * counts[0]


def test_a_small_point_is_shrunk():
    counted = Counted(1)
    report = Check(counted.value, {"x": (3,)}, grad=counted.gradient).run()
    assert any(note.startswith("the smallest failing point found: x=[") for note in report.notes)
    assert not any("-0.0" in note for note in report.notes)


def test_a_small_point_has_no_zeros_of_its_own():
    report = Check(lambda x: x @ x, {"x": (3,)}, grad=lambda x: x).run()
    assert [finding.kind for finding in report.diagnosis] == ["factor"]


def test_what_is_surely_wrong_is_not_looked_at_again():
    counted = Counted(slice(None))
    report = Check(counted.value, {"x": (500,)}, grad=counted.gradient).run()
    assert report.verdict == "fail"
    assert counted.calls < 20 * 500
