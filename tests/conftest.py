"""What tests of several folders need."""

import os
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def path(tmp_path_factory) -> str:
    """Return a search path on which `gradcli` is this package, with the commands that stand beside this Python."""
    script = tmp_path_factory.mktemp("bin") / "gradcli"
    root = Path(__file__).parents[1]
    script.write_text(f'#!/bin/sh\nPYTHONPATH="${{PYTHONPATH:-{root}}}" exec "{sys.executable}" -m gradcli "$@"\n')
    script.chmod(0o755)
    return os.pathsep.join([str(script.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
