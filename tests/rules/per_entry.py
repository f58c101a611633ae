"""A check of sample calls becomes one test per entry of the table, which tells of all samples that fail."""

import functools
from collections.abc import Callable, Iterable

import pytest

from .calls import Call


def per_entry(calls: Iterable[Call]) -> Callable[[Callable[[Call], None]], Callable[[str], None]]:
    """Return a decorator for a check of one call. The test keeps it as its `check`."""
    samples: dict[str, list[Call]] = {}
    for call in calls:
        samples.setdefault(call.entry.name, []).append(call)

    def decorate(check: Callable[[Call], None]) -> Callable[[str], None]:
        @pytest.mark.parametrize("entry", samples)
        @functools.wraps(check, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
        def test(entry):
            failures = [text for call in samples[entry] if (text := failure(check, call))]
            if failures:
                head = f"{len(failures)} of {len(samples[entry])} samples of {entry} fail"
                pytest.fail("\n\n".join([head, *failures]), pytrace=False)

        del test.__wrapped__  # pytest would ask for its arguments
        test.check = check
        return test

    return decorate


def failure(check: Callable[[Call], None], call: Call) -> str:
    """Return what is wrong with a call, "" for nothing."""
    try:
        check(call)
    except Exception as error:
        return f"{call.describe()}\n{type(error).__name__}: {error}"
    return ""
