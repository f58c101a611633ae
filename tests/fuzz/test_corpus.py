"""Bugs found by fuzzing stay fixed: every kept command line ends well, or with a meaningful error."""

import shlex
import warnings
from pathlib import Path

import numpy as np
import pytest

from gradcli.tape.dtypes import defaults, set_default_dtype

from .outside import run_here

KEPT = Path(__file__).with_name("corpus.txt").read_text().splitlines()
DEAR = "quantile(real_if_close("


@pytest.mark.parametrize("line", [pytest.param(x, marks=[pytest.mark.nightly] if DEAR in x else []) for x in KEPT])
def test_kept_line_ends_well(line, monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # undo what would end with the process
    before = defaults.float
    try:
        with np.errstate():
            problem = run_here(shlex.split(line.replace(r"\n", "\n")))
    finally:
        set_default_dtype(before)
    assert not problem


def test_the_corpus_is_small():
    assert 20 < len(KEPT) <= 60
