"""What fuzzing has found stays mended: every kept input ends well, or with an error that says something."""

import pytest

from .target import KEPT, run

DEAR = b"eRquantile(real(std(fmin((0,1)[x>0], A))), 1);"


@pytest.mark.parametrize(
    "data", [pytest.param(data, marks=[pytest.mark.nightly] if data == DEAR else [], id=repr(data)) for data in KEPT]
)
def test_kept_input(data):
    run(data)


def test_the_corpus_is_small():
    assert 20 < len(KEPT) <= 60
