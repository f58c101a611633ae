"""Turn a check of sample calls into tests of several table entries each, which report all samples that fail."""

import functools
from collections.abc import Callable, Iterable

import pytest

from .calls import Call

TOGETHER = 12
"""Entries per test. Setting up a test takes pytest as long as a check, and each worker collects all tests."""


def per_entry(calls: Iterable[Call]) -> Callable[[Callable[[Call], None]], Callable[[str], None]]:
    """Return a decorator that turns a check of one call into a test. The test's attribute `check` is the check."""
    samples: dict[str, list[Call]] = {}
    for call in calls:
        samples.setdefault(call.entry.name, []).append(call)
    names = list(samples)
    groups = [names[start : start + TOGETHER] for start in range(0, len(names), TOGETHER)]

    def decorate(check: Callable[[Call], None]) -> Callable[[str], None]:
        @pytest.mark.parametrize("entries", groups, ids=lambda group: f"{group[0]} to {group[-1]}")
        @functools.wraps(check, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
        def test(entries):
            failures = [text for entry in entries for call in samples[entry] if (text := failure(check, call))]
            if failures:
                pytest.fail("\n\n".join([f"{len(failures)} samples fail", *failures]), pytrace=False)

        del test.__wrapped__  # or pytest would use the arguments of the check
        test.check = check
        return test

    return decorate


def failure(check: Callable[[Call], None], call: Call) -> str:
    """Return how a check of a call fails, or "" if it passes."""
    try:
        check(call)
    except Exception as error:
        return f"{call.describe()}\n{type(error).__name__}: {error}"
    return ""
