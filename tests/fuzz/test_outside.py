"""A part of what may happen around whole processes: none ends in a defect, a hang, or with something lost."""

from __future__ import annotations

import pytest

from . import answers, functions, places, signals
from .outside import attempts

SEED, COUNT = 23, 1
GROUPS = {**functions.GROUPS, **places.GROUPS, **answers.GROUPS, **signals.GROUPS}


@pytest.mark.parametrize("name", GROUPS)
def test_it_ends_well(name):
    assert not attempts(GROUPS[name], SEED, COUNT)
