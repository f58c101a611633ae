"""What a check loads: a gradient written by hand needs neither the engine nor the table."""

import subprocess
import sys
from pathlib import Path

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
