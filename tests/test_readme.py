"""The commands and programs of the README, and of the docstring on commands, run and print what it says."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gradcli.cli.commands

from .text import matches

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", TEXT + (gradcli.cli.commands.__doc__ or ""), re.S)
HAS_PLUGIN = "gradcli" in {point.name for point in importlib.metadata.entry_points(group="pytest11")}
PLUGIN = "" if HAS_PLUGIN else "-p gradcli.pytest_plugin"
SHELL = f"""
gradcli() {{ "{sys.executable}" -m gradcli "$@"; }}
pytest() {{ "{sys.executable}" -m pytest {PLUGIN} -p no:cacheprovider "$@"; }}
"""


def blocks(kind: str) -> list[str]:
    """Return the code blocks of one kind."""
    return [text for name, text in BLOCKS if name == kind]


def console_commands() -> list[tuple[str, str]]:
    """Return (command, output) of every line that begins with `$`."""
    parts = [part for block in blocks("console") for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [(command, output.strip("\n")) for command, _, output in (part.partition("\n") for part in parts)]


EXAMPLES = [example for example in console_commands() if example[0].startswith("gradcli")]


@pytest.mark.parametrize(("command", "expected"), EXAMPLES, ids=lambda x: x[:40])
def test_console_example(command, expected):
    piped = command.endswith("| cat") or "--json" in command
    if not piped:
        command += " -f table"
    done = subprocess.run(
        ["bash", "-c", f"{SHELL}\n{command}"],
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


@pytest.mark.parametrize("command", [c for c, _ in console_commands() if not c.startswith("gradcli")])
def test_other_commands_are_targets_of_make(command):
    words = command.partition("#")[0].split()
    assert words[0] == "make", command
    assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M)


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.split("\n")[-2][:30])
def test_python_example(code):
    """What a program prints is what its comments say; ` / ` stands for the end of a line."""
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    expected = "\n".join(re.findall(r"  # (.*)", code)).replace(" / ", "\n")
    assert matches(expected, done.stdout), done.stdout


@pytest.mark.parametrize("code", blocks("sh"))
def test_shell_example(code, tmp_path):
    """The commands run in a folder that has the samples and nothing else."""
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = ["bash", "-ec", f"{SHELL}\n{code}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "gradcheck.xml").exists()
    assert "2 passed" in done.stdout


def test_every_block_is_run():
    assert {kind for kind, _ in BLOCKS} == {"console", "python", "sh"}
    assert len(EXAMPLES) >= 10
    assert len(blocks("python")) >= 3


def test_picture_is_what_the_terminal_shows(tmp_path):
    """The picture is drawn anew by the example's command."""
    command = "gradcli grad 'x**2 * sin(y)' x=2 y=3 -f table --save"
    drawn, kept = tmp_path / "grad.svg", ROOT / "samples/pictures/grad.svg"
    environment = {**os.environ, "COLUMNS": "80", "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    subprocess.run(["bash", "-c", f"{SHELL}\n{command} {drawn}"], cwd=ROOT, env=environment, check=True)
    assert drawn.read_text() == kept.read_text(), f"{command} {kept}"


def test_it_is_short():
    assert TEXT.count("\n") <= 180


def test_files_that_it_names_exist():
    for name in re.findall(r"[`(]((?:samples|tests|man)/[\w./-]+)[`)]", TEXT):
        assert (ROOT / name).exists(), name
