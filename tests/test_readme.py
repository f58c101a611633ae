"""Commands and programs in the README and in the docstring of gradcli.cli.commands run and print what is shown."""

import importlib.metadata
import json
import re
import shutil
import sys

import pytest

import gradcli.cli.commands

from .command import ROOT, run, shell
from .text import matches

TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", TEXT + (gradcli.cli.commands.__doc__ or ""), re.S)
HAS_PLUGIN = "gradcli" in {point.name for point in importlib.metadata.entry_points(group="pytest11")}
PLUGIN = "" if HAS_PLUGIN else "-p gradcli.pytest_plugin"
PYTEST = f'pytest() {{ "$GRADCLI_PYTHON" -m pytest {PLUGIN} -p no:cacheprovider "$@"; }}\n'


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
    done = shell(PYTEST + command)
    assert matches(steady(expected), steady((done.stdout + done.stderr).strip("\n"))), done.stdout + done.stderr


def steady(text: str) -> str:
    """Return output without what varies between runs: durations, rounding errors and line breaks."""
    text = re.sub(r"± \S+", "± e", re.sub(r"in \d+\.\d+ s", "in t s", text))
    return re.sub(r"\n(?=\w)", " ", text)


@pytest.mark.parametrize("command", [c for c, _ in console_commands() if not c.startswith("gradcli")])
def test_other_commands_are_make_targets(command):
    words = command.partition("#")[0].split()
    assert words[0] == "make", command
    assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M)


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.split("\n")[-2][:30])
def test_python_example(code):
    """A program prints what its comments say; ` / ` stands for a line break."""
    done = run([sys.executable, "-c", code])
    assert done.returncode == 0, done.stderr
    expected = "\n".join(re.findall(r"  # (.*)", code)).replace(" / ", "\n")
    assert matches(expected, done.stdout), done.stdout


@pytest.mark.parametrize("code", blocks("sh"))
def test_shell_example(code, tmp_path):
    """Run the commands in a folder that contains only the samples."""
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    done = shell(f"set -e\n{PYTEST}{code}", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "gradcheck.xml").exists()
    assert "10 passed" in done.stdout


def test_every_block_is_run():
    assert {kind for kind, _ in BLOCKS} == {"console", "python", "sh"}
    assert len(EXAMPLES) >= 7
    assert len(blocks("python")) >= 3


def test_the_readme_is_short():
    assert TEXT.count("\n") <= 180


def test_numbers_of_other_checkers_are_those_that_were_measured():
    measured = json.loads((ROOT / "man/generate/bench.json").read_text())
    accused = {row["checker"]: row["counts"]["accused"] for row in measured["checkers"]}
    others = [accused[name] for name in ("PyTorch gradcheck", "SciPy check_grad", "numdifftools")]
    words = (
        f"Of {measured['functions']} correct gradients of random functions, PyTorch's gradcheck with its defaults "
        f"reports {others[0]} as wrong, and gradcli none. check_grad and numdifftools give no verdict of their own. "
        f"With limits that we chose, check_grad rejects {others[1]} of these right gradients, and numdifftools "
        f"{others[2]}."
    )
    text = " ".join(TEXT.split())
    assert words in text and accused["gradcli"] == 0
    largest = next(row for row in measured["scales"] if row["checker"] == "gradcli")["sizes"][-1]
    assert (largest["n"], largest["finds"]) == (1_000_000, True)
    assert f"With a million inputs, gradcli passes a right gradient after {largest['calls']} calls" in text


def test_files_named_in_the_readme_exist():
    for name in re.findall(r"[`(]((?:samples|tests|man)/[\w./-]+)[`)]", TEXT):
        assert (ROOT / name).exists(), name
