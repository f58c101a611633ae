"""gradcli why finds the cause on our own engine, under its own name and as PyTorch, and nothing in what is right."""

import pytest

from .why_scripts import cases, check_cause, check_nothing, tutorials

ENGINES = [("gradcli", case) for case in cases("gradcli")] + [("--torch", case) for case in cases("--torch")]


@pytest.mark.parametrize(("engine", "case"), ENGINES, ids=repr)
def test_cause_and_twin(engine, case, tmp_path):
    check_cause(case, engine, tmp_path)
    check_nothing(case.right, engine, tmp_path)


@pytest.mark.parametrize("title", tutorials())
def test_tutorials_are_fine(title, tmp_path):
    check_nothing(tutorials()[title], "--torch", tmp_path)
