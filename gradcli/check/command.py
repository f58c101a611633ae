"""A command of the user's, with a module of ours loaded at the start of every Python in it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import GradcliError

HOSTS = str(Path(__file__).with_name("in_command"))
"""The folder with what runs inside the command, in whatever Python that is."""


def environment_with(host: str) -> dict[str, str]:
    """Return the environment in which every Python loads a module of that folder: see sitecustomize there."""
    path = os.pathsep.join(filter(None, [HOSTS, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "GRADCLI_HOST": host}


def start_command(command: Sequence[str], **how: Any) -> subprocess.Popen:
    """Start a command. Raises GradcliError where there is none of that name."""
    try:
        return subprocess.Popen(command, **how)
    except OSError as error:
        raise GradcliError(f"cannot run {command[0]}: {error.strerror}") from None
