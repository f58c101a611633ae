"""What fuzzing has found stays mended: every kept input ends well, or with an error that says something."""

from __future__ import annotations

import pytest

from .corpus import kept
from .target import run


@pytest.mark.parametrize("data", kept(), ids=repr)
def test_kept_input(data):
    run(data)


def test_the_corpus_is_small():
    assert 20 < len(kept()) <= 60
