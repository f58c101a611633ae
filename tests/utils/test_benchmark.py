"""Measurements of statements."""

import pytest

from gradcli.utils.benchmark import Measurement, Timer


@pytest.mark.parametrize(
    ("times", "text"),
    [([2.0, 4.0], "3.00 s"), ([2e-3], "2.00 ms"), ([5e-6], "5.00 us"), ([4e-8], "40.00 ns"), ([0.0], "0.00 ns")],
)
def test_a_measurement_prints_its_median(times, text):
    lines = repr(Measurement("f(x)", 10, times)).split("\n")
    assert lines[1:3] == ["f(x)", f"  {text}"]
    assert lines[3] == f"  {len(times)} measurement{'s' * (len(times) > 1)}, 10 runs , 1 thread"


def test_a_timer_runs_its_statement():
    seen = []
    measured = Timer("seen.append(x)", setup="x = 2", globals={"seen": seen}).timeit(3)
    assert seen == [2, 2, 2]
    assert measured.mean == measured.median >= 0
    assert Timer("1 + 1").blocked_autorange(min_run_time=0.2).number_per_run > 1
