"""Time limits: they end what takes too long, also inside of each other, and leave no alarm behind."""

import signal
import time

import pytest

from gradcli.errors import TimeIsUp
from gradcli.lang.limits import within

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")


def busy(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_the_time_ends():
    with pytest.raises(TimeIsUp), within(0.05):
        busy(5)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_an_inner_limit_leaves_the_outer_one_alone():
    with pytest.raises(TimeIsUp), within(0.2):
        with pytest.raises(TimeIsUp), within(0.05):
            busy(5)
        busy(5)


def test_a_longer_inner_limit_is_cut_to_the_outer_one():
    start = time.monotonic()
    with pytest.raises(TimeIsUp), within(0.1):
        try:
            with within(30):
                busy(5)
        except TimeIsUp:  # as if it were the inner one's
            busy(5)
    assert time.monotonic() - start < 20


def test_code_inside_cannot_take_the_end_for_its_own():
    with pytest.raises(TimeIsUp), within(0.05):
        while True:
            try:
                busy(5)
            except Exception:
                continue


def test_an_alarm_on_the_way_out_is_ignored(monkeypatch):
    set_timer = signal.setitimer

    def alarm_before_the_end(timer, seconds, *interval):
        if not seconds:
            signal.raise_signal(signal.SIGALRM)
        return set_timer(timer, seconds, *interval)

    monkeypatch.setattr(signal, "setitimer", alarm_before_the_end)
    with within(30):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
