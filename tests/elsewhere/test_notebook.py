"""Notebooks: the extension and its magic, in IPython's shell and in a notebook that nbconvert runs."""

import json
import subprocess
import sys

import pytest

from gradcli.notebook import check_cell

pytest.importorskip("IPython")

RIGHT = "@gradcli.check(at={'x': [1.0, 2.0]}, grad=lambda x: 2 * x)\ndef square(x):\n    return (x**2).sum()\n"
WRONG = RIGHT.replace("2 * x", "3 * x")
IMPORTS = "%load_ext gradcli\nimport gradcli\nimport numpy as np"
CELLS = [IMPORTS, f"%%gradcheck\n{RIGHT}", f"%%gradcheck\n{WRONG}", "float(square(np.array([3.0])))"]


@pytest.fixture
def shell():
    from IPython.core.interactiveshell import InteractiveShell

    InteractiveShell.clear_instance()
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def test_the_checks_of_a_cell_are_run(shell):
    assert shell.run_cell(CELLS[0]).success
    passed, failed = (check_cell(shell, "", cell.partition("\n")[2]) for cell in CELLS[1:3])
    assert [check.verdict for check in passed.checks] == ["pass"]
    (check,) = failed.checks
    assert (check.name, check.verdict, check.inputs[0].worst.numeric) == ("square", "fail", pytest.approx(4.0))
    assert "constant factor 3/2" in failed._repr_html_()
    assert check.replay is None  # no command line repeats a cell
    assert shell.run_cell(CELLS[3]).result == 9  # the cell ran in the notebook's own names


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (CELLS[1], "pass\tsquare\t"),
        (CELLS[2], "fail\tsquare\t"),
        ("%%gradcheck\nx = 1", "declares no checks"),
        ("%%gradcheck --order 2\nx = 1", "takes no options"),
        ("%%gradcheck\n1 / 0", "ZeroDivisionError"),
    ],
)
def test_what_the_magic_shows(shell, cell, said, capsys):
    shell.run_cell(CELLS[0])
    shell.run_cell(cell)
    assert said in "".join(capsys.readouterr())


def test_nbconvert_runs_a_notebook(tmp_path):
    pytest.importorskip("nbconvert")
    pytest.importorskip("ipykernel")
    cells = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
        for source in CELLS
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "checks.ipynb").write_text(json.dumps(notebook))
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "done.ipynb"]
    done = subprocess.run([*command, "checks.ipynb"], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    _, passed, failed, value = (cell["outputs"] for cell in json.loads((tmp_path / "done.ipynb").read_text())["cells"])
    for outputs, words in ((passed, "1 passed"), (failed, "1 failed")):
        (page,) = (output["data"]["text/html"] for output in outputs if "data" in output)
        assert words in "".join(page)
    assert value[0]["data"]["text/plain"] == ["9.0"]
