"""What user code does to end the process is an error of its own, with exit 3."""

import pytest

from tests.command import gradcli

SCRIPT = """
import asyncio, sys
import gradcli

class Square(gradcli.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, g):
        {end}

x = gradcli.tensor(1.0, requires_grad=True)
y = Square.apply(x)
"""


@pytest.mark.parametrize("command", ["grad", "jacobian", "hessian", "trace"])
@pytest.mark.parametrize(
    ("end", "says"),
    [
        ("sys.exit(0)", "exited with status 0"),
        ("sys.exit(1)", "exited with status 1"),
        ("raise asyncio.CancelledError()", "raised CancelledError"),
    ],
)
def test_a_backward_that_ends_the_process(command, end, says, tmp_path):
    path = tmp_path / "net.py"
    path.write_text(SCRIPT.format(end=end))
    result = gradcli(command, str(path))
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith(f"error: the code that was called {says}\n")
