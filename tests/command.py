"""The command as tests call it: in a process of its own, with this package."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SETTINGS = {
    **{"COLUMNS": "80", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"},
    **{"PYTHONPATH": str(ROOT), "GRADCLI_PYTHON": sys.executable},
}
FUNCTION = 'gradcli() { "$GRADCLI_PYTHON" -m gradcli "$@"; }\n'
"""What makes `gradcli` a command of bash."""


def run(words: list, cwd: Any = ROOT, **variables: str) -> subprocess.CompletedProcess:
    """Run a command in a folder, with variables of the environment."""
    environment = {**os.environ, **SETTINGS, **variables}
    return subprocess.run(
        [*map(str, words)], cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def gradcli(*words: object, cwd: Any = None, **variables: str) -> subprocess.CompletedProcess:
    """Run gradcli."""
    return run([sys.executable, "-m", "gradcli", *words], cwd, **variables)


def shell(line: str, cwd: Any = ROOT, **variables: str) -> subprocess.CompletedProcess:
    """Run a line of bash in which `gradcli` is a command."""
    return run(["bash", "-c", FUNCTION + line], cwd, **variables)


def compile_c(source: Any, library: Any, *words: str) -> Any:
    """Compile a shared library, and return it."""
    subprocess.run(["cc", *words, "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    return library
