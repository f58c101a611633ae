"""A function is added in one place, its entry: everything else follows from there."""

import subprocess
import sys
from pathlib import Path


def test_an_added_entry_works_everywhere():
    script = Path(__file__).with_name("added_entry.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "used in every way\n"
