"""What a declared check may not ask for, an error of that check and of no other; and what a check loads."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gradcli.check.declare import check_gradient
from tests.command import gradcli


def test_good_arguments_are_taken():
    at = {"x": (np.int64(2), 3)}
    report = check_gradient(
        lambda x: np.sum(x * x), lambda x: 2 * x, at, seed=np.int64(3), samples=np.int64(2), wrt=("x",), order=1
    )
    assert report.verdict == "pass"
    assert check_gradient(lambda x: x * x, lambda x: 2 * x, 2.0, rtol=np.float32(1e-3), atol=0, eps=1e-6)


def test_a_backward_that_changes_its_cotangent_is_an_error():
    def clamp_backward(g, x):
        g[x < 0] = 0
        return g

    report = check_gradient(lambda x: np.maximum(x, 0), vjp=clamp_backward, at={"x": np.array([-1.0, 2.0])})
    assert report.verdict == "error"
    assert report.message is not None
    assert "changes its cotangent in place" in report.message


@pytest.mark.parametrize("option", [3, True, "l2"])
def test_a_wrong_gradient_at_drawn_points_beside_an_option_fails(option, tmp_path):
    source = "def f(x, option): return (x**2).sum()\ndef wrong(x, option): return 3 * x\n"
    (tmp_path / "f.py").write_text(source, encoding="utf-8")
    words = ["gradcheck", "f.py:f", "--grad", "wrong", "--shape", "x=3", "--arg", f"option={json.dumps(option)}"]
    result = gradcli(*words, cwd=tmp_path)
    assert result.stdout.startswith("fail\t"), result.stdout + result.stderr
    assert result.returncode == 1


SAMPLE = Path(__file__).parents[2] / "samples" / "gradients.py"
PROGRAM = f"""
import sys
from gradcli.check.targets import import_checks
from gradcli.cli.main import main
from gradcli.program.user_code import Folders
main(["gradcheck", {str(SAMPLE)!r}])
for check in import_checks({str(SAMPLE)!r}, Folders()):
    assert check.run().verdict == "pass"
loaded = [m for m in sys.modules if m.startswith(("gradcli.tape", "gradcli.rules", "gradcli.func", "gradcli.api"))]
assert not loaded, loaded
assert "rich" not in sys.modules and "sympy" not in sys.modules
"""


def test_checking_a_numpy_gradient_loads_no_engine():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
