"""A few attempts of each group: none may end in a defect, a hang or a loss of data."""

import pytest

from . import answers, commands, functions, hostile, places, signals  # noqa: F401 - they register their groups
from .outside import GROUPS, attempts

IN_PROCESS = ("commands", "hostile")
COUNTS = {name: 12 if make.__module__.endswith(IN_PROCESS) else 1 for name, make in GROUPS.items()} | {"mutants": 3}
"""Attempts per group: fewer if they take long."""


SLOW = ("functions",)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name in SLOW else name for name in COUNTS]
)
def test_attempts_end_well(name):
    assert not attempts(name, 23, COUNTS[name])
