"""gradcli why finds the cause in scripts that PyTorch runs, and nothing in what is right."""

import pytest

from ..analysis.why_scripts import cases, check_cause, check_nothing, tutorials

pytestmark = pytest.mark.framework("torch")


@pytest.mark.parametrize("case", cases("torch"), ids=repr)
def test_cause_and_twin(case, tmp_path):
    check_cause(case, "torch", tmp_path)
    check_nothing(case.right, "torch", tmp_path)


TUTORIALS = [pytest.param(x, marks=pytest.mark.nightly) if k % 2 else x for k, x in enumerate(tutorials())]
"""Our own engine runs them all each time."""


@pytest.mark.parametrize("title", TUTORIALS)
def test_tutorials_are_fine(title, tmp_path):
    check_nothing(tutorials()[title], "torch", tmp_path)


def test_script_that_maps_over_rows_runs(tmp_path):
    """Tensors under vmap have no numbers to look at."""
    check_nothing(ROWS, "torch", tmp_path)


ROWS = """
x = T.ones(5, 3)
w = T.ones(3, requires_grad=True)
def loss(w, row):
    return (w * row).sum() ** 2
print(T.func.vmap(T.func.grad(loss), (None, 0))(w, x).shape)
loss(w, x[0]).backward()
"""
