"""What fuzzing has found stays mended: every kept input ends well, or with an error that says something."""

import pytest

from .target import KEPT, run


@pytest.mark.parametrize("data", KEPT, ids=repr)
def test_kept_input(data):
    run(data)


def test_the_corpus_is_small():
    assert 20 < len(KEPT) <= 60
