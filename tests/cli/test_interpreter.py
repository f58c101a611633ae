"""Python targets run in the Python of the user's project, which has packages that gradcli's own Python lacks."""

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from .. import command

MODULE = """
import {package}
import numpy as np

def f(x):
    return np.sum({package}.half(x) ** 2)

def g(x):
    return {package}.half(x)

def wrong(x):
    return x
"""
CHECKS = MODULE + "\nimport gradcli\n\ngradcli.check(f, at={{'x': [1.0, 2.0]}}, grad=g)\n"
SCRIPT = """
import {package}
import gradcli

x = gradcli.tensor([1.0, 2.0], requires_grad=True)
y = ({package}.half(x) ** 2).sum()
"""
FIT = """
import {package}
import sys
import numpy as np
from scipy.optimize import minimize

print(sys.prefix)
minimize(lambda x: np.sum((x - 1) ** 2), np.zeros(2), jac=lambda x: 3 * (x - 1))
"""
VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX")
REAL = getattr(sys, "_base_executable", sys.executable)
START = f"import sys; sys.path.insert(0, {str(command.ROOT)!r}); from gradcli.__main__ import main; main()"


@pytest.fixture(scope="session")
def other(tmp_path_factory):
    """Return an environment with a package of its own and without pip."""
    place = tmp_path_factory.mktemp("other") / "env"
    subprocess.run([REAL, "-m", "venv", "--without-pip", place], check=True)
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "theirs.py").write_text("def half(x):\n    return x / 2\n")
    return place


@pytest.fixture
def project(tmp_path):
    (tmp_path / "sub").mkdir()
    for name, text in {"net": MODULE, "checks": CHECKS, "script": SCRIPT}.items():
        (tmp_path / "sub" / f"{name}.py").write_text(text.format(package="theirs"))
    (tmp_path / "plain.py").write_text(MODULE.replace("import {package}", "").replace("{package}.half(x)", "(x / 2)"))
    return tmp_path


def gradcli(*words, cwd, **variables):
    """Run gradcli without environment variables that name the Python of a project."""
    done = command.gradcli(*words, cwd=cwd, **{**dict.fromkeys(VARIABLES, ""), **variables})
    assert "Traceback" not in done.stderr, done.stderr
    return done


CHECK = ("gradcheck", "sub/net.py:f", "x=[1,2]", "--grad")


@pytest.mark.parametrize("how", ["VIRTUAL_ENV", "beside", "above", "CONDA_PREFIX", "--python", "pyproject.toml"])
def test_the_projects_packages_are_found(how, project, other):
    words, variables = [], {}
    if how in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        variables[how] = str(other)
    elif how == "--python":
        words = ["--python", other]
    elif how == "pyproject.toml":
        (project / "env").symlink_to(other)
        (project / "pyproject.toml").write_text("[tool.gradcli]\npython = './env/bin/python'\n")
    else:
        (project / ("sub/.venv" if how == "beside" else ".venv")).symlink_to(other)
    right = gradcli(*CHECK, "g", *words, cwd=project, **variables)
    assert (right.returncode, right.stdout[:5]) == (0, "pass\t"), right


def test_the_projects_python_need_not_have_gradcli(project, other):
    clean = {name: value for name, value in os.environ.items() if name not in (*VARIABLES, "PYTHONPATH")}
    words = [sys.executable, "-c", START, *CHECK, "wrong", "--python", other, "-f", "table"]
    done = subprocess.run(words, cwd=project, env=clean, capture_output=True, text=True, check=False)
    assert (done.returncode, "2 of 2 elements wrong" in done.stdout) == (1, True), done


def test_other_commands_use_the_projects_python(project, other):
    (project / ".venv").symlink_to(other)
    values = gradcli("grad", "sub/script.py", "x=[2,4]", cwd=project)
    assert (values.returncode, values.stdout) == (0, "x[0]\t1.0\nx[1]\t2.0\n"), values
    declared = gradcli("lock", "sub", "-o", "a.lock", cwd=project)
    assert declared.returncode == 0, declared
    assert gradcli("lock", "--verify", "a.lock", "--json", cwd=project).stdout.count('"same"') == 1
    (project / "points.csv").write_text("x\n2\n4\n")
    (project / "sub/sum.py").write_text("import theirs\ndef f(x):\n    return theirs.half(x) ** 2\n")
    assert (
        gradcli("sweep", "sub/sum.py:f", "points.csv", cwd=project).stdout == "x,value,d_x\n2.0,1.0,1.0\n4.0,4.0,2.0\n"
    )


def test_mutate_runs_the_projects_python(project, other):
    (project / ".venv").symlink_to(other)
    (project / "two.py").write_text("import theirs\ndef two():\n    return theirs.half(4)\n")
    (project / "test.py").write_text("import two, sys\nassert sys.prefix.endswith('.venv') and two.two() == 2\n")
    done = gradcli("mutate", "two.py:two", "--at-least", "10", "--", "python", "test.py", cwd=project)
    assert done.returncode == 0, done


def test_watch_runs_the_projects_python(project, other):
    (project / ".venv").symlink_to(other)
    (project / "fit.py").write_text(FIT.format(package="theirs"))
    clean = {"PYTHONPATH": f"{command.ROOT}:{Path(numpy.__file__).parents[1]}"}
    done = gradcli("watch", "--", "python", "fit.py", cwd=project, **clean)
    assert (done.returncode, done.stdout) == (1, f"{project / '.venv'}\n"), done


def test_expressions_do_not_use_the_projects_python(project, other):
    (project / ".venv").symlink_to(other)
    (project / ".venv2").mkdir()
    words = ("grad", "x**2", "x=3")
    assert gradcli(*words, cwd=project, VIRTUAL_ENV=str(project / ".venv2")).stdout == "x\t6.0\n"
    refused = gradcli(*words, "--python", other, cwd=project)
    assert (refused.returncode, refused.stderr.splitlines()[0]) == (
        2,
        "error: --python is for scripts, FILE.py:NAME, files of checks and calculators of ASE (ase:FILE.py:NAME) only",
    )


def test_errors_name_the_python_and_the_package(project, other):
    away = gradcli(*CHECK, "g", cwd=project)
    assert away.returncode == 3
    for word in ("No module named 'theirs'", sys.executable, "--python PATH"):
        assert word in away.stderr
    wrong = gradcli(*CHECK, "g", "--python", "/nowhere/python", "--json", cwd=project)
    assert wrong.returncode == 2
    assert '"message": "--python is /nowhere/python, which is not a Python interpreter"' in wrong.stdout
    gone = gradcli(*CHECK, "g", cwd=project, VIRTUAL_ENV="/nowhere")
    assert (gone.returncode, gone.stderr.splitlines()[0]) == (
        2,
        "error: VIRTUAL_ENV is /nowhere, which is not a Python interpreter",
    )
    assert gradcli(*CHECK, "g", "--python", "true", cwd=project).returncode == 2


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (("/x", (3, 9, 1), "cpython-39", True), "is Python 3.9.1; gradcli needs 3.11 or later"),
        (("/x", (3, 99, 1), "cpython-399", False), "has no numpy"),
    ],
)
def test_a_python_that_cannot_run_gradcli_is_an_error(answer, expected, project):
    place = project / "python"
    place.write_text(f"#!/bin/sh\necho {str(answer)!r}\n")
    place.chmod(0o755)
    done = gradcli(*CHECK, "g", "--python", "./python", cwd=project)
    assert done.returncode == 2
    first, hint = done.stderr.splitlines()
    assert first == f"error: {place} (--python) {expected}"
    assert "--python PATH" in hint


def test_the_running_python_is_recognised(project):
    (project / ".venv").symlink_to(sys.prefix)
    done = gradcli("gradcheck", "plain.py:f", "--grad", "g", "x=2", "-v", cwd=project)
    assert (done.returncode, done.stdout[:5]) == (0, "pass\t")
    assert "Python targets here: " + str(project / ".venv") in gradcli("--version", "-v", cwd=project).stdout


def test_version_names_the_pythons(project, other):
    (project / ".venv").symlink_to(other)
    lines = gradcli("--version", "-v", cwd=project / "sub").stdout.splitlines()
    assert lines[0] == gradcli("--version", cwd=project).stdout.strip()
    assert lines[1].startswith(f"expressions: {sys.executable} (")
    assert lines[2].startswith(f"Python targets here: {project / '.venv/bin/python'} (")
    assert lines[2].endswith("from .venv")
