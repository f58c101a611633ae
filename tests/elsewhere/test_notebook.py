"""The notebook extension and its magics, in IPython's shell."""

import pytest

from gradcli.notebook import check_cell, differentiate_cell

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


def test_the_checks_in_a_cell_are_run(shell):
    assert shell.run_cell(CELLS[0]).success
    passed, failed = (check_cell(shell, "", cell.partition("\n")[2]) for cell in CELLS[1:3])
    assert [check.verdict for check in passed.checks] == ["pass"]
    (check,) = failed.checks
    assert (check.name, check.verdict, check.inputs[0].worst.numeric) == ("square", "fail", pytest.approx(4.0))
    assert "the claim is 3/2 times the derivative" in failed._repr_html_()
    assert check.replay is None  # no command line can rerun a cell
    assert shell.run_cell(CELLS[3]).result == 9  # the cell ran in the notebook's namespace


def test_gradients_of_a_cell(shell, capsys):
    shell.run_cell(CELLS[0])
    cell = "x = gradcli.tensor([1.0, 2.0], requires_grad=True)\n{}"
    gradients, graph = differentiate_cell(shell, "", cell.format("y = x * x\ny.sum()"))
    assert (gradients.value, gradients.inputs[0].grad.tolist()) == (5.0, [2.0, 4.0])
    assert [node.formula for node in graph.nodes] == ["", "x * x", "sum(y)"]
    gradients, graph = differentiate_cell(shell, "", cell.format("(x * 3).sum().backward()"))
    assert (gradients.value, gradients.inputs[0].grad.tolist(), len(graph.nodes)) == (None, [3.0, 3.0], 3)
    shell.run_cell("%%grad\n" + cell.format("(x * 7).sum()"))
    assert "x[0]\t7.0" in capsys.readouterr().out
    for last, told in (("x.detach()", "depends on one"), ("x * 2", "take the sum")):
        shell.run_cell("%%grad\n" + cell.format(last))
        assert told in "".join(capsys.readouterr())


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
def test_output_of_the_magic(shell, cell, said, capsys):
    shell.run_cell(CELLS[0])
    shell.run_cell(cell)
    assert said in "".join(capsys.readouterr())
