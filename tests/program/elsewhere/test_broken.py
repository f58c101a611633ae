"""Frameworks that cannot be imported, and functions of theirs that gradcli's engine is to run."""

import pytest

from ...command import ROOT, gradcli


def run(folder, *words, broken="raise RuntimeError('the driver is broken')"):
    """Return exit code, output and errors of the command beside a PyTorch whose import does something."""
    package = folder / "site" / "torch"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(broken)
    (folder / "plain.py").write_text("def f(x):\n    return (x * x).sum()\n")
    (folder / "uses.py").write_text("import torch\n\ndef f(x):\n    return torch.sin(x).sum()\n")
    (folder / "checks.py").write_text(
        "import gradcli\n\n@gradcli.check(at={'x': [1.0, 2.0]}, engine='torch')\ndef f(x):\n    return (x * x).sum()\n"
    )
    done = gradcli(*words, cwd=folder, PYTHONPATH=f"{folder / 'site'}:{ROOT}")
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("broken", ["raise RuntimeError('the driver is broken')", "import no_such_driver"])
@pytest.mark.parametrize("command", ["grad", "gradcheck", "jacobian"])
@pytest.mark.parametrize("target, more", [("plain.py:f", ("--engine", "torch")), ("uses.py:f", ())])
def test_a_broken_installation_is_one_error(command, target, more, broken, tmp_path):
    code, out, errors = run(tmp_path, command, target, "x=[1,2]", *more, broken=broken)
    assert code in (2, 3)
    assert "driver" in out + errors
    assert "Traceback" not in out + errors


def test_in_a_declared_check_it_is_an_error_verdict(tmp_path):
    code, out, errors = run(tmp_path, "gradcheck", "checks.py")
    assert (code, out.startswith("error"), "driver is broken" in out) == (3, True, True), errors


@pytest.mark.parametrize("command", ["grad", "gradcheck", "jacobian", "vjp"])
def test_gradclis_engine_refuses_code_of_a_framework(command, tmp_path):
    words = [command, "uses.py:f", "x=[1,2]", "--engine", "gradcli"]
    code, out, errors = run(tmp_path, *words, broken="sin = abs")
    assert code == 3
    assert "PyTorch, whose own derivative rules gradcli's engine does not run" in out + errors
