"""gradcli why finds the cause on our own engine, under its own name and as PyTorch, and nothing in what is right."""

import pytest

from .why_scripts import cases, check_cause, check_nothing, tutorials

OWN = {case.title for case in cases("gradcli")}
ENGINES = [("gradcli" if i % 2 and case.title in OWN else "--torch", case) for i, case in enumerate(cases("--torch"))]
"""Every script runs in one of the two ways to call our engine: they differ in the default type and in names alone."""


@pytest.mark.parametrize(("engine", "case"), ENGINES, ids=repr)
def test_the_cause_is_found_and_the_corrected_script_is_fine(engine, case, tmp_path):
    check_cause(case, engine, tmp_path)
    check_nothing(case.right, engine, tmp_path)


@pytest.mark.parametrize("title", tutorials())
def test_nothing_is_found_in_tutorials(title, tmp_path):
    check_nothing(tutorials()[title], "--torch", tmp_path)
