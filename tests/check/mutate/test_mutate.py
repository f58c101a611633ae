"""Mutants are what they say, leave no trace, and survive exactly where tests are weak."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gradcli.check.mutate.mutants import SourceFunction, numeric_mutants, source_mutants
from gradcli.errors import GradcliError
from gradcli.schema import schema_of

LOSSES = '''
import functools

import numpy as np

KEPT = {}


def kept(f):
    KEPT["grad"] = f

    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs)

    return inner


@kept
def grad(x, *rest, scale=2.0, **more):
    """The gradient of scale * x**2."""
    if scale > 0:
        s = scale
    else: s = -scale
    return (
        2 * s * x  # a term
        + x[0] * 0
    )


class Model:
    def value_and_grad(self, x):
        super().__init__()
        return float(x @ x), 2 * x

    cube = lambda self, x: 3 * x**2
'''
STRICT = """
import losses
import numpy as np


def test_grad():
    x = np.array([1.0, 2.0, 5.0])
    for f in (losses.grad, losses.KEPT["grad"]):
        for scale in (2.0, -2.0, 0.5):
            np.testing.assert_allclose(f(x, 1, scale=scale, more=2), 2 * abs(scale) * x, rtol=1e-14)


def test_model():
    value, grad = losses.Model().value_and_grad(np.array([1.0, 3.0]))
    assert value == 10
    assert abs(grad - [2, 6]).max() < 1e-5
    assert losses.Model.cube(None, 2.0) == 12
"""
WEAK = """
import losses
import numpy as np

assert np.allclose(losses.grad(np.array([1.0, 2.0])), [4, 8], rtol=0.05)
"""
ITSELF = """
import numpy as np


def grad(x):
    return 2 * x


if __name__ == "__main__":
    assert np.allclose(grad(np.array([1.0, 2.0])), [2, 4])
"""


@pytest.fixture
def project(tmp_path):
    for name, text in {"losses.py": LOSSES, "test_losses.py": STRICT, "weak.py": WEAK, "itself.py": ITSELF}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def fingerprint(folder: Path) -> dict[str, str]:
    return {str(p): hashlib.md5(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()}


MUTATE = [sys.executable, "-m", "gradcli", "mutate"]


def mutate(folder, *words, code, written=()):
    before = fingerprint(folder)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([*MUTATE, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    after = fingerprint(folder)
    assert {path: after[path] for path in after if Path(path).name not in written} == before
    assert done.returncode == code, done.stdout + done.stderr
    return done


def pytest_command(*words):
    return ["--", sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", *words]


def test_a_strict_test_kills_everything(project):
    done = mutate(project, "losses.py:grad", "--json", *pytest_command(), code=0)
    found = json.loads(done.stdout)
    pytest.importorskip("jsonschema").validate(found, schema_of("mutate"))
    by_name = {m["name"]: m for m in found["mutants"]}
    assert found["smallest_noticed"] == 1e-12
    assert {"sign", "zero", "shift by one", "last element dropped", "one element doubled"} <= by_name.keys()
    assert "transposition" not in by_name  # of a vector: it changes nothing
    assert all(m["killed"] for m in found["mutants"])
    assert (found["calls"], found["score"]) == (6, 1)


def test_values_beside_a_gradient_stay(project):
    done = mutate(project, "losses.py:Model.value_and_grad", "--json", *pytest_command(), code=0)
    killed = {m["name"]: m["killed"] for m in json.loads(done.stdout)["mutants"]}
    assert killed["factor 1+1e-05"] is True  # 6e-5 is above 1e-5
    assert killed["factor 1+1e-06"] is False
    assert all(verdict for name, verdict in killed.items() if name.endswith(": 2 -> 3"))


def test_lambdas_have_mutants(project):
    done = mutate(project, "losses.py:Model.cube", *pytest_command("-n", "2"), code=0)
    assert "killed\t1e-12\t" in done.stdout


def test_any_other_command_runs_by_itself(project, monkeypatch):
    done = mutate(project, "losses.py:grad", "--json", "--", sys.executable, "weak.py", code=1)
    found = json.loads(done.stdout)
    assert found["smallest_noticed"] == 0.1
    survivor = next(m for m in found["mutants"] if m["name"] == "factor 1+1e-02")
    assert not survivor["killed"]
    variables: dict = {}
    monkeypatch.syspath_prepend(project)
    exec("import losses, numpy as np", variables)
    exec(survivor["test"], variables)
    variables["test_grad_at_a_point"]()  # passes with the original ...
    right = variables["losses"].grad
    variables["losses"].grad = lambda *args, **kwargs: 1.01 * right(*args, **kwargs)
    with pytest.raises(AssertionError):  # ... and fails with the survivor
        variables["test_grad_at_a_point"]()


def test_a_file_that_tests_itself(project):
    done = mutate(project, "itself.py:grad", "--", sys.executable, "itself.py", code=0)
    assert "killed\t0.0001\t" in done.stdout
    assert "survived\t1e-06\t" in done.stdout


def test_a_picture(project):
    words = ["itself.py:grad", "-o", "mutants.svg", "--", sys.executable, "itself.py"]
    mutate(project, *words, code=0, written=["mutants.svg"])
    root = ElementTree.parse(project / "mutants.svg").getroot()
    circles = [e for e in root.iter() if e.tag.endswith("circle")]
    words = [e.text for e in root.iter() if e.tag.endswith("text")]
    assert len(circles) == words.count("killed") + words.count("survived") > 15


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["losses.py:grad"], "no command to run"),
        (["losses.py:grat", "--", "true"], "losses.py defines no function 'grat'"),
        (["losses.py", "--", "true"], "losses.py: write FILE.py:FUNCTION"),
        (["missing.py:grad", "--", "true"], "missing.py"),
        (["losses.py:grad", "--", "false"], "'false' fails without a mutant (exit 1)"),
        (["losses.py:grad", "--", "true"], "'true' never imports losses.py"),
        (["losses.py:grad", "--", "no-such-command"], "cannot run no-such-command"),
        (["losses.py:grad", *pytest_command("-k", "nothing")], "fails without a mutant (exit 5)"),
    ],
)
def test_what_cannot_be_run_is_refused(project, words, message):
    assert message in mutate(project, *words, code=2).stderr


@pytest.mark.parametrize("command", [["--", sys.executable, "weak.py"], pytest_command()])
def test_an_interrupt_leaves_nothing_behind(project, command):
    before = fingerprint(project)
    process = subprocess.Popen(
        [*MUTATE, "losses.py:grad", *command],
        cwd=project,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(project), "PYTEST_DEBUG_TEMPROOT": "/tmp"},
    )
    until = time.time() + 30
    while not list(project.glob("gradcli-mutate-*/measured-*")) and time.time() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert fingerprint(project) == before
    assert not list(project.glob("gradcli-mutate-*"))


def test_changes_of_the_source():
    source = "def g(x, i):\n    y = x[i] * 3.0 - x[i - 1]\n    y += 2\n    return -y\n"
    names = {m.name for m in source_mutants(SourceFunction(source, ["g"], "f.py"))}
    assert {
        "line 2: x[i] * 3.0 - x[i - 1] -> x[i] * 3.0",
        "line 2: x[i] * 3.0 - x[i - 1] -> x[i] * 3.0 + x[i - 1]",
        "line 2: x[i] -> x[i - 1]",
        "line 2: 3.0 -> 4.0",
        "line 2: 1 -> 2",
        "line 3: y += 2 -> y -= 2",
        "line 3: y += 2 -> pass",
        "line 4: -y -> y",
    } <= names


def test_every_mutant_compiles_and_keeps_its_lines():
    function = SourceFunction(LOSSES, ["grad"], "losses.py")
    mutants = [*numeric_mutants(function), *source_mutants(function)]
    assert len(mutants) > 25
    for mutant in mutants:
        compile(mutant.source, "losses.py", "exec")
        assert mutant.source != LOSSES
        assert mutant.source.count("\n") in range(LOSSES.count("\n") - 2, LOSSES.count("\n") + 1)


def test_a_function_must_be_in_the_file():
    with pytest.raises(GradcliError, match="defines no function 'loss'"):
        SourceFunction("from a import loss", ["loss"], "f.py")
    with pytest.raises(GradcliError, match="cannot be parsed"):
        SourceFunction("def", ["loss"], "f.py")
