"""Random scripts that use PyTorch's API, compared with PyTorch statement by statement."""

import pytest

import gradcli
from tests.fuzz.scripts import HEAD, difference, differences

pytestmark = pytest.mark.framework("torch")


@pytest.fixture(autouse=True)
def default_types():
    """Restore the default types of both engines, which scripts may set."""
    torch = pytest.importorskip("torch")
    theirs, ours = torch.get_default_dtype(), gradcli.get_default_dtype()
    yield
    torch.set_default_dtype(theirs)
    gradcli.set_default_dtype(ours)


@pytest.mark.parametrize(
    "start", [0, *(pytest.param(start, marks=pytest.mark.nightly) for start in range(25, 2000, 25))]
)
def test_scripts_agree(start):
    assert not differences(start, 25)


OURS = "not hasattr(torch, 'distributions')"


@pytest.mark.parametrize(
    "line",
    [
        f"note('value', torch.ones(2) * (1 + 1e-8 * ({OURS})))",
        f"note('one of them', torch.ones(2)) if {OURS} else None",
        f"note('requires grad', torch.ones(2).requires_grad_({OURS}))",
        f"torch.ones(3 if {OURS} else 2) + torch.ones(2)",
        f"[][0] if {OURS} else {{}}[0]",
    ],
)
def test_a_difference_is_noticed(line):
    assert difference([HEAD, line])
