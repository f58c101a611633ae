"""`pytest --gradcheck`: declared checks are tests; without the option nothing happens."""

import importlib.metadata
import os
import re

import pytest

from .command import ROOT, gradcli

pytest_plugins = ["pytester"]
INSTALLED = "gradcli" in {point.name for point in importlib.metadata.entry_points(group="pytest11")}
PLUGIN = "-p no:cacheprovider -p no:hypothesispytest".split() + ([] if INSTALLED else ["-p", "gradcli.pytest_plugin"])
GRADIENTS = """
import numpy as np
import gradcli

def double(x):
    return 2 * x

@gradcli.check(at={"x": [1.0, 2.0]}, grad=double)
def right(x):
    return (x**2).sum()

@gradcli.check(at={"x": [1.0, 2.0]}, grad=lambda x: -2 * x)
def wrong(x):
    return (x**2).sum()

@gradcli.check(at={"x": [1.0]}, grad=double)
def noisy(x):
    return np.random.rand()

@gradcli.check(at={"x": [1.0]}, grad=double)
def broken(x):
    raise ValueError("no luck")
"""


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def call(*words: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess(*PLUGIN, *words)

    return call


WHY = [
    "FAILED gradients.py::wrong - fail: x[[]1]: claimed -4, numeric 4*",
    "FAILED gradients.py::broken - error: broken raised ValueError: no luck",
    "FAILED gradients.py::noisy - inconclusive: non-deterministic*",
    '*File "gradients.py", line 21, in broken',
]


def test_declared_checks_are_tests_whose_failures_show_the_report_of_the_command(pytester, run):
    pytester.makepyfile(gradients=GRADIENTS, plain="1 / 0  # never imported")
    result = run("--gradcheck", "-v", "-rf")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["gradients.py::right PASSED*", "gradients.py::wrong FAILED*"])
    result.stdout.fnmatch_lines_random(WHY)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    printed = gradcli("gradcheck", "gradients.py", "-k", "wrong", "-f", "table", COLUMNS="300").stdout
    report = [line.strip() for line in printed.splitlines()[:-1]]
    assert "the sign is wrong" in "".join(report)
    assert any(re.search(r"gradients\.py:\d+", line) for line in report)
    result.stdout.fnmatch_lines([f"*{glob(line)}*" for line in report])
    assert not re.search(r"(?m)^Traceback|^E  ", result.stdout.str())


def glob(text: str) -> str:
    """Return a pattern for exactly this text, except for the error of the reference."""
    return re.sub(r"± \S+", "± *", text.replace("[", "[[]"))


def test_the_summary_says_why_where_tests_run_in_another_process(pytester, run):
    pytester.makepyfile(gradients=GRADIENTS)
    pytester.makeini("[pytest]")
    run("--gradcheck", "-rf", "-n", "1").stdout.fnmatch_lines_random(WHY)


def test_only_what_is_inconclusive_may_be_allowed(pytester, run):
    pytester.makepyfile(gradients=GRADIENTS)
    result = run("--gradcheck", "-v", "--gradcheck-allow-inconclusive")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines_random([f"gradients.py::{name} FAILED*" for name in ("wrong", "broken")])


def test_in_a_test_module_checks_stand_beside_tests(pytester, run):
    pytester.makepyfile(test_both=GRADIENTS + "\ndef test_right():\n    assert right(np.ones(2)) == 2\n")
    run().assert_outcomes(passed=1)
    run("--gradcheck").assert_outcomes(passed=2, failed=3)
    run("--gradcheck", "test_both.py::right").assert_outcomes(passed=1)


def test_checks_of_imported_functions_belong_to_the_file_that_declares_them(pytester, run):
    pytester.makepyfile(
        functions="def f(x):\n    return x**2\n",
        gradients="""
            import gradcli, functions, shared
            gradcli.check(functions.f, at={"x": 1.0}, grad=lambda x: 2 * x)
            gradcli.check(at={"x": 1.0}, grad=lambda x: 2 * x, name="again")(functions.f)
            gradcli.check(functions.f, at={"x": 3.0}, grad=lambda x: 2 * x)
        """,
        shared="import gradcli\n\n@gradcli.check(at={'x': 1.0}, grad=lambda x: 2 * x)\ndef g(x):\n    return x**2\n",
    )
    result = run("--gradcheck", "-v")
    result.assert_outcomes(passed=4)
    for check in ("gradients.py::f", "gradients.py::again", "gradients.py::f-2", "shared.py::g"):
        result.stdout.fnmatch_lines([f"{check} PASSED*"])


def test_files_of_one_name_find_what_is_beside_them(pytester, run):
    for folder, scale in (("a", 2.0), ("b", 3.0)):
        place = pytester.mkdir(folder)
        (place / "helper.py").write_text(f"SCALE = {scale}\n")
        (place / "random.py").write_text("SCALE = 0.0\n")
        (place / "grads.py").write_text(
            "import gradcli\n"
            "from helper import SCALE\n"
            '@gradcli.check(at={"x": 2.0}, grad=lambda x: 4 * x)\n'
            f"def f{folder}(x):\n"
            "    from helper import SCALE as again\n"
            "    assert again == SCALE\n"
            "    return SCALE * x**2\n"
        )
    result = run("--gradcheck", "-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines_random(["a/grads.py::fa PASSED*", "b/grads.py::fb FAILED*"])


def test_a_file_that_cannot_be_imported_is_an_error(pytester, run):
    pytester.makepyfile(gradients="import gradcli\ngradcli.check\n1 / 0  # check(\n")
    result = run("--gradcheck")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*ZeroDivisionError*"])


def test_a_file_that_asks_for_it_is_skipped(pytester, run):
    text = "import gradcli, unittest\nraise unittest.SkipTest('needs nothing 1.0')\ngradcli.check(None)\n"
    pytester.makepyfile(gradients=text)
    result = run("--gradcheck", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*needs nothing 1.0*"])


def test_without_the_option_nothing_is_imported(pytester, run):
    pytester.makepyfile(
        gradients=GRADIENTS,
        test_imports="""
            import sys

            def test_imports():
                assert "gradcli.pytest_plugin" in sys.modules
                assert "numpy" not in sys.modules
                loaded = {name for name in sys.modules if name.startswith("gradcli")}
                assert loaded == {"gradcli", "gradcli.pytest_plugin"}
        """,
    )
    run().assert_outcomes(passed=1)
