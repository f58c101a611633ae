"""A part of what may be typed, and happen around a process: none ends in a defect, a hang, or with something lost."""

import pytest

from . import answers, commands, functions, hostile, places, signals  # noqa: F401 - they register their groups
from .outside import GROUPS, attempts

IN_PROCESS = ("commands", "hostile")
COUNTS = {name: 12 if make.__module__.endswith(IN_PROCESS) else 1 for name, make in GROUPS.items()} | {"mutants": 3}
"""How many of each: fewer of those that take long."""


SLOW = ("functions",)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name in SLOW else name for name in COUNTS]
)
def test_attempts_end_well(name):
    assert not attempts(name, 23, COUNTS[name])
