"""The choice of the Python that runs a target, and the settings in the nearest pyproject.toml."""

import os
import sys

import pytest

from gradcli.errors import GradcliError
from gradcli.user import project

PYTHON = os.path.join(sys.prefix, "bin", "python")


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.py").write_text("import math\n")
    return tmp_path


def test_the_running_python_is_recognised_without_starting_it(here, monkeypatch):
    monkeypatch.setattr(sys, "executable", PYTHON)
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.setattr(project, "ask", lambda found: pytest.fail(f"{found.path} was started"))
    assert project.find_interpreter(".") == project.Interpreter(PYTHON, "VIRTUAL_ENV")
    assert project.choose_python(["f.py:g"]) is None


def test_another_environment_is_asked_for_its_version(here):
    (here / ".venv/bin").mkdir(parents=True)
    python = here / ".venv/bin/python"
    python.write_text("#!/bin/sh\necho \"('/elsewhere', (3, 12, 1), 'cpython-312', True)\"\n")
    python.chmod(0o755)
    assert project.choose_python(["f.py:g"]) == project.Interpreter(str(python), ".venv")
    assert project.choose_python(["x**2"]) is None
    python.write_text("#!/bin/sh\necho \"('/elsewhere', (3, 9, 1), 'cpython-39', True)\"\n")
    with pytest.raises(GradcliError, match=r"is Python 3\.9\.1; gradcli needs 3\.11"):
        project.choose_python(["f.py:g"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.gradcli]\njob = 2", "no key 'job'"),
        ("[tool.gradcli]\njobs = 'two'", "'jobs' in .* must be"),
        ("[tool.gradcli", "cannot be read"),
    ],
)
def test_invalid_settings_are_errors(here, text, message):
    (here / "pyproject.toml").write_text(text)
    with pytest.raises(GradcliError, match=message):
        project.project_in(["pyproject.toml"])


def test_settings_of_other_tools_are_ignored(here):
    (here / "pyproject.toml").write_text("[project]\ndependencies = ['gradcli']\n")
    assert project.project_in(["pyproject.toml"]) is None


def test_exclude_takes_names_and_paths(here):
    found = project.Project(str(here / "pyproject.toml"), {"exclude": ["old/", "src/gen*.py"]})
    excluded = ["old", "src/old", "src/gen1.py", "gen1.py", "src/new.py"]
    assert [found.excludes(str(here / path)) for path in excluded] == [True, True, True, False, False]
