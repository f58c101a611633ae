"""A part of the hostile command lines: none ends in a defect, a hang or broken JSON."""

from __future__ import annotations

import pytest

from .hostile import GROUPS, attempts


@pytest.mark.parametrize("name", GROUPS)
def test_hostile_command_lines_end_well(name):
    assert not attempts(name, 23, 12)
