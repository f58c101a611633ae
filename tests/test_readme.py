"""The README's commands print what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .text import matches

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()


def console_examples() -> list[tuple[str, str]]:
    """Return (command, output) of every `$ gradcli` example."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            if command.startswith("gradcli"):
                found.append((command, output.strip("\n")))
    return found


@pytest.mark.parametrize(("command", "expected"), console_examples(), ids=lambda x: x[:40])
def test_console_example(command, expected):
    piped = command.endswith("| cat") or "--json" in command
    if not piped:
        command += " -f table"
    done = subprocess.run(
        ["bash", "-c", f'gradcli() {{ "{sys.executable}" -m gradcli "$@"; }}\n{command}'],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "80", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert matches(steady(expected), steady((done.stdout + done.stderr).strip("\n"))), done.stdout + done.stderr


def steady(text: str) -> str:
    """Return output without what differs from run to run: durations, and the size of rounding errors."""
    return re.sub(r"± \S+", "± e", re.sub(r"in \d+\.\d+ s", "in t s", text))


def test_python_example(capsys):
    (code,) = re.findall(r"```python\n(import gradcli.*?)```", TEXT, re.S)
    exec(code, {})
    comments = re.findall(r"# (.*)", code)
    assert capsys.readouterr().out.splitlines() == comments


def test_there_are_five_examples():
    assert len(console_examples()) >= 6
