"""`gradcli why` finds causes on our engine (under its own name and as PyTorch), and nothing in correct scripts."""

import pytest

from .why_scripts import cases, check_cause, check_nothing, tutorials

OWN = {case.title for case in cases("gradcli")}
ENGINES = [("gradcli" if i % 2 and case.title in OWN else "--torch", case) for i, case in enumerate(cases("--torch"))]
"""Each script runs under one of our engine's two names, which differ only in the default type and in spellings."""


@pytest.mark.parametrize(("engine", "case"), ENGINES, ids=repr)
def test_the_cause_is_found_and_the_corrected_script_is_fine(engine, case, tmp_path):
    check_cause(case, engine, tmp_path)
    check_nothing(case.right, engine, tmp_path)


@pytest.mark.parametrize("title", tutorials())
def test_nothing_is_found_in_tutorials(title, tmp_path):
    check_nothing(tutorials()[title], "--torch", tmp_path)
