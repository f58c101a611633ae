"""Limits of time and memory: they stop code that takes too much, even when nested, and leave no alarm behind."""

import signal
import sys
import time

import numpy as np
import pytest

from gradcli.errors import TimeIsUp
from gradcli.lang.limits import more_memory, within

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers")


def busy(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_code_is_stopped_at_the_limit():
    with pytest.raises(TimeIsUp), within(0.05):
        busy(5)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_an_inner_limit_does_not_affect_the_outer_one():
    with pytest.raises(TimeIsUp), within(0.2):
        with pytest.raises(TimeIsUp), within(0.05):
            busy(5)
        busy(5)


def test_the_outer_limit_caps_a_longer_inner_one():
    start = time.monotonic()
    with pytest.raises(TimeIsUp), within(0.1):
        try:
            with within(30):
                busy(5)
        except TimeIsUp:  # as if it came from the inner limit
            busy(5)
    assert time.monotonic() - start < 20


def test_except_exception_does_not_catch_the_limit():
    with pytest.raises(TimeIsUp), within(0.05):
        while True:
            try:
                busy(5)
            except Exception:
                continue


def test_an_alarm_during_exit_is_ignored(monkeypatch):
    set_timer = signal.setitimer

    def alarm_before_the_end(timer, seconds, *interval):
        if not seconds:
            signal.raise_signal(signal.SIGALRM)
        return set_timer(timer, seconds, *interval)

    monkeypatch.setattr(signal, "setitimer", alarm_before_the_end)
    with within(30):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory need Linux")
def test_memory_is_limited_in_a_block_only():
    with more_memory(64 << 20):
        np.empty(1 << 20)
        with pytest.raises(MemoryError):
            np.empty(1 << 25)
    np.empty(1 << 25)
