"""Run all case files, which are lists of commands with their expected output and exit code.

A case file has sections, each headed by a line that begins with three equals signs:

    === needs NAME...     commands, packages or a system; without them, the cases from here on are skipped. Frameworks
                          among them are imported before the process forks
    === file NAME         a file in the working directory
    === run               a command line for the shell, with `gradcli` as a command
    === stdout, stderr    the expected output (empty if the section is missing); `[...]` stands for any text on a line
    === exit              the expected exit code (0 if the section is missing)
"""

import os
import platform
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from .command import shell
from .text import matches

FOLDER = Path(__file__).parent / "cases"
CASES = sorted(FOLDER.glob(f"{os.environ.get('CASES', '*')}/*.txt"))
"""The files to run, in a folder for each package; `make test-PACKAGE` selects a folder with the variable CASES."""


def sections(text: str) -> list[tuple[str, str, str]]:
    """Return (kind, argument, content) of every section."""
    parts = re.split(r"^=== (\w+) ?(.*)\n", text, flags=re.M)[1:]
    return [(kind, argument, content) for kind, argument, content in zip(*[iter(parts)] * 3, strict=True)]


class Case:
    """A command with its expected output and exit code."""

    def __init__(self, path: Path, number: int, command: str, files: dict[str, str], needs: list[str]):
        self.path, self.number, self.command, self.files = path, number, command.strip(), files
        self.needs = needs
        self.stdout = self.stderr = ""
        self.exit = 0

    def __repr__(self) -> str:
        return f"{self.path.stem}-{self.number}"

    def write_files(self, folder: Path) -> None:
        for name, content in self.files.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content)


def cases_of(path: Path) -> list[Case]:
    """Return the cases of a case file; its `file` sections apply to all of them."""
    files: dict[str, str] = {}
    found: list[Case] = []
    needs: list[str] = []
    for kind, argument, content in sections(path.read_text()):
        if kind == "file":
            files[argument] = content
        elif kind == "run":
            found.append(Case(path, len(found) + 1, content, files, needs))
        elif kind == "needs":
            needs = argument.split()
        elif kind in ("stdout", "stderr"):
            setattr(found[-1], kind, content)
        elif kind == "exit":
            found[-1].exit = int(argument)
        else:
            raise ValueError(f"{path}: unknown section {kind}")
    return found


def is_document_elsewhere(command: str) -> bool:
    words = "json" in command and "gradcli" in command
    others = any(word in command for word in ("gradcli schema", "sarif", "gitlab"))
    return words and not others and bool(re.search(r"[|>]|-o |--output", command))


IN_JSON = {
    repr(case): case
    for path in CASES
    for case in [case for case in cases_of(path) if is_document_elsewhere(case.command)][::3]
}
"""A third of each file's cases that write JSON to a pipe or file. JSON on standard output is always validated."""
WRITTEN = re.compile(r"gradcli [^;|&]*(?:-o |--output[ =]|> *)(\S+\.json)")
"""A JSON file that gradcli writes in a command."""
SYSTEM = f"{sys.platform}-{platform.machine()}"
FRAMEWORKS = ("torch", "jax", "autograd")
NIGHTLY = {"workers-1", "mutate-1", "mutate-2", "mutate-4", "processes-10", "type_stubs-1"}
"""Slow cases that test the same code as others; the last two may also fail on a busy machine."""


def as_parameter(case: Case) -> object:
    marks = [pytest.mark.nightly] if repr(case) in NIGHTLY else []
    return pytest.param(case, marks=marks, id=repr(case))


@pytest.mark.parametrize("case", [as_parameter(case) for path in CASES for case in cases_of(path)])
def test_case(case, tmp_path):
    check_case(case, tmp_path)


def check_case(case: Case, tmp_path: Path) -> None:
    """Run the command of a case in a folder and compare its output and exit code."""
    for name in case.needs:
        if name != SYSTEM and shutil.which(name) is None and find_spec(name) is None:
            pytest.skip(f"needs {name}")
    case.write_files(tmp_path)
    log = tmp_path.with_suffix(".log")
    pipe = f'| tee -a "{log}"; return ${{PIPESTATUS[0]}}' if repr(case) in IN_JSON else ""
    frameworks = tuple(name for name in case.needs if name in FRAMEWORKS)
    done = shell(case.command, tmp_path, pipe=pipe, frameworks=frameworks)
    report = f"$ {case.command}\nexit {done.returncode}\n--- stdout\n{done.stdout}--- stderr\n{done.stderr}"
    assert done.returncode == case.exit, report
    assert matches(case.stdout, done.stdout), report
    assert matches(case.stderr, done.stderr), report
    if '{"schema": "gradcli/1", "command"' in done.stdout and "points.json" not in case.command:
        pytest.importorskip("jsonschema")
        from .schemas import validate

        validate(done.stdout)
    if pipe:
        validate_elsewhere(case, log.read_text() if log.exists() else "", tmp_path)


def validate_elsewhere(case: Case, log: str, folder: Path) -> None:
    """Validate the documents that each gradcli call of a line has written, to standard output or to files."""
    pytest.importorskip("jsonschema")
    from .schemas import validate

    validate(log)
    for path in folder.glob("*.json"):
        if path.name in WRITTEN.findall(case.command):
            assert validate(path.read_text()) > 0


def test_there_are_cases():
    assert "CASES" in os.environ or sum(len(cases_of(path)) for path in CASES) > 50
