"""The command, as these tests call it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def gradcheck(*words: str, cwd: Any = None) -> tuple[int, dict[str, Any], str]:
    """Return exit code, JSON and standard error of `gradcli gradcheck`."""
    command = [sys.executable, "-m", "gradcli", "gradcheck", *map(str, words), "--json"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, json.loads(done.stdout), done.stderr


def verdicts(found: dict[str, Any]) -> list[str]:
    """Return the verdicts of all checks."""
    return [check["verdict"] for check in found["checks"]]
