"""Functional Mock-up Units, compiled here, through FMPy."""

import json
import math
import platform
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from tests.command import compile_c, gradcli

pytestmark = [
    pytest.mark.framework("fmpy"),
    pytest.mark.skipif(
        shutil.which("cc") is None or (sys.platform, platform.machine()) != ("linux", "x86_64"),
        reason="the model is compiled for linux64",
    ),
]
DESCRIPTION = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="model" guid="{{1}}">
  <CoSimulation modelIdentifier="model" providesDirectionalDerivative="{}"/>
  <ModelVariables>
    <ScalarVariable name="u" valueReference="0" causality="input"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="body.v" valueReference="1" causality="input"><Real start="1"/></ScalarVariable>
    <ScalarVariable name="k" valueReference="2" causality="parameter" variability="fixed">
      <Real start="2"/>
    </ScalarVariable>
    <ScalarVariable name="y" valueReference="3" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="z" valueReference="4" causality="output"><Real/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs><Unknown index="4"/><Unknown index="5"/></Outputs></ModelStructure>
</fmiModelDescription>
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("fmu")
    source = Path(__file__).with_name("fmu") / "model.c"
    for name, define in (("right", "RIGHT"), ("wrong", "WRONG"), ("crash", "CRASH"), ("plain", "RIGHT")):
        library = compile_c(source, place / f"{name}.so", f"-D{define}")
        with zipfile.ZipFile(place / f"{name}.fmu", "w") as unit:
            unit.writestr("modelDescription.xml", DESCRIPTION.format(str(name != "plain").lower()))
            unit.write(library, "binaries/linux64/model.so")
    (place / "broken.fmu").write_text("no archive")
    return place


def run(folder, *words):
    done = gradcli(*words, cwd=folder)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "words", [("u=0.3",), ("u=0.3", "body.v=2", "k=1.5"), ("u=-1", "k=3", "--out", "y"), ("u=1", "--calls", "12")]
)
def test_right_derivatives_pass(folder, words):
    code, out, errors = run(folder, "gradcheck", "right.fmu", *words)
    assert (code, out[:4]) == (0, "pass"), errors


def test_a_wrong_derivative_is_named(folder):
    code, out, _ = run(folder, "gradcheck", "wrong.fmu", "u=0.3", "body.v=2", "--json")
    (check,) = json.loads(out)["checks"]
    assert (code, check["verdict"]) == (1, "fail")
    assert "1.05 times the derivative, in out['z']" in check["diagnosis"][0]["text"]
    for right in (("--out", "y"), ("--wrt", "u")):
        assert run(folder, "gradcheck", "wrong.fmu", "u=0.3", "body.v=2", *right)[0] == 0


def test_derivatives_are_printed(folder):
    code, out, _ = run(folder, "jacobian", "right.fmu", "u=0.3", "body.v=2")
    found = {key: float(x) for key, x in (line.split("\t") for line in out.splitlines())}
    of_y = {"out[0]/u": 4 * math.cos(0.3), "out[0]/body.v": 2 * math.sin(0.3)}
    expected = {**of_y, "out[1]/u": 1.0, "out[1]/body.v": 4.0}
    assert (code, found) == (0, pytest.approx(expected, rel=1e-15))
    code, out, _ = run(folder, "grad", "right.fmu", "u=0.3", "--out", "y", "--check")
    assert (code, float(out.split("\t")[1])) == (0, pytest.approx(2 * math.cos(0.3), rel=1e-15))


def test_a_crash_is_an_error_and_nothing_else(folder):
    code, out, _ = run(folder, "gradcheck", "crash.fmu", "u=1", "body.v=6")
    assert (code, out[:5]) == (3, "error")
    assert "died of signal 11 (SIGSEGV)" in out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("right.fmu", "w=1"), 2, "has no input 'w'\nhint: its inputs and parameters are u, body.v, k"),
        (("right.fmu",), 2, "needs a value for an input\nhint: its own are: u=0 body.v=1 k=2"),
        (("right.fmu", "u=1", "--out", "x"), 2, "--out: right.fmu has no 'x'\nhint: its outputs are y, z"),
        (("right.fmu", "u=[1,2]"), 2, "'u' is a single real number"),
        (("right.fmu", "u=1", "--safe"), 2, "would have to be executed"),
        (("absent.fmu", "u=1"), 2, "no such file: absent.fmu"),
        (("plain.fmu", "u=1"), 3, "does not provide directional derivatives"),
        (("broken.fmu", "u=1"), 3, "not a zip file"),
    ],
)
def test_errors(folder, words, code, says):
    found, out, errors = run(folder, "gradcheck", *words)
    assert found == code, errors
    assert says in out + errors
    assert "Traceback" not in errors
