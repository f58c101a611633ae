"""A part of the hostile command lines: none ends in a defect, a hang or broken JSON."""

from __future__ import annotations

import pytest

from . import commands  # noqa: F401 - it registers its groups
from .hostile import GROUPS, attempts

FEW = {"mutants": 3}
"""How many of those that take long; of others twelve."""


@pytest.mark.parametrize("name", GROUPS)
def test_hostile_command_lines_end_well(name):
    assert not attempts(name, 23, FEW.get(name, 12))
