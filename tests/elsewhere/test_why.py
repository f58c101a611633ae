"""gradcli why finds the cause in scripts run by PyTorch, and finds nothing in right scripts."""

import pytest

from ..why.why_scripts import cases, check_cause, check_nothing, tutorials

pytestmark = pytest.mark.framework("torch")


@pytest.mark.parametrize("case", cases("torch"), ids=repr)
def test_the_cause_is_found_and_nothing_in_the_right_twin(case, tmp_path):
    check_cause(case, "torch", tmp_path)
    check_nothing(case.right, "torch", tmp_path)


TUTORIALS = [pytest.param(x, marks=pytest.mark.nightly) if k % 2 else x for k, x in enumerate(tutorials())]
"""Half of them are nightly, because gradcli's own engine runs all of them every time."""


@pytest.mark.parametrize("title", TUTORIALS)
def test_nothing_is_found_in_tutorials(title, tmp_path):
    check_nothing(tutorials()[title], "torch", tmp_path)


def test_a_script_with_vmap_runs(tmp_path):
    """Tensors inside vmap have no values to inspect."""
    check_nothing(ROWS, "torch", tmp_path)


ROWS = """
x = T.ones(5, 3)
w = T.ones(3, requires_grad=True)
def loss(w, row):
    return (w * row).sum() ** 2
print(T.func.vmap(T.func.grad(loss), (None, 0))(w, x).shape)
loss(w, x[0]).backward()
"""
