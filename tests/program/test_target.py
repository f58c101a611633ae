"""Targets: an expression, a file, a function in a file, or an address; and the errors for anything else."""

import io
import os
import sys

import numpy as np
import pytest

from gradcli.claims.open import load_program, open_address
from gradcli.errors import GradcliError
from gradcli.lang.limits import MAX_PROGRAM_BYTES
from gradcli.program.expression import ExpressionProgram
from gradcli.program.script import ScriptProgram
from gradcli.program.target import Target, decode_source, load_file, load_script, read_source
from gradcli.request import Request
from gradcli.user.address import as_file, join_structures, kind_of_address, names_module, project_files, split_name
from gradcli.user.loading import change_to


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Working directory with targets; modules imported from it are removed afterwards."""
    texts = {
        "e.expr": "a = 2\na*x",
        "e.py": "y = x**2\ny + 1",  # Python, but also an expression
        "s.py": "import math\nx = math.pi",
        "f.py": "def f(x):\n    return x**2\n",
        "bad.expr": "x +* y",
        "src/pkg/__init__.py": "",
        "src/pkg/losses.py": "",
        "plain/mod.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    change_to(None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("http://localhost:4242/forward", "umbridge"),
        ("https://host/m", "umbridge"),
        ("cmd:python server.py", "umbridge"),
        ("./libf.so:double f(const double *x, int n)", "library"),
        ("lib.so.6.1:void g(double x);", "library"),
        ("lib.dylib:float f(float x)", "library"),
        ("model.fmu", "fmu"),
        ("ase:calc.py:make CO", "ase"),
        ("ase:emt", "ase"),
        ("x**2", None),
        ("f.py:f", None),
        ("lib.so", None),
        ("model.fmu.py", None),
        ("a.so:f", None),  # a declaration has parentheses
        ("f(x.so:y)", None),
    ],
)
def test_addresses(text, kind):
    assert kind_of_address(text) == kind


def test_addresses_that_are_refused():
    with pytest.raises(GradcliError, match="--safe: cmd:cat would have to be executed"):
        open_address("cmd:cat", Request(safe=True))
    with pytest.raises(GradcliError, match="--grad cannot be used, because cmd:cat provides its own derivative"):
        open_address("cmd:cat", Request(grad="g"))
    with pytest.raises(GradcliError, match=r"--config: m\.fmu takes no configuration; only UM-Bridge models do"):
        open_address("m.fmu", Request(config="{}"))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("f.py:f", ("f.py", "f")),
        ("n.ipynb:f", ("n.ipynb", "f")),
        ("a/b.py:Net.forward", ("a/b.py", "Net.forward")),
        ("f.py:", ("f.py", "")),
        ("f.py", ("f.py", None)),
        ("x**2", ("x**2", None)),
        ("ase:calc.py:make CO", ("calc.py", "make")),
        ("C.py:d.py:f", ("C.py", "d.py:f")),
    ],
)
def test_a_file_and_a_name_in_it(text, parts):
    assert split_name(text) == parts


def test_a_structure_is_joined_to_its_calculator():
    words = ["ase:calc.py:make", "CO", "f.py:f", "ase:calc.py:make H2O", "x=1", "ase:emt"]
    assert list(join_structures(words)) == ["ase:calc.py:make CO", "f.py:f", "ase:calc.py:make H2O", "x=1", "ase:emt"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pkg.losses:mse", "src/pkg/losses.py:mse"),
        ("pkg:f", "src/pkg/__init__.py:f"),
        ("plain.mod:A.b", "plain/mod.py:A.b"),
        ("nowhere.mod:f", "nowhere.mod:f"),
        ("f.py:f", "f.py:f"),
        ("x:1", "x:1"),
    ],
)
def test_modules_are_resolved_to_files(text, found):
    assert as_file(text) == found


def test_installed_modules_are_found_on_request():
    assert as_file("json.decoder:JSONDecoder", installed=True).endswith("json/decoder.py:JSONDecoder")
    for name in ("no_such_package", "math", "json.no_such_part"):  # math has no file
        with pytest.raises(GradcliError, match=f"no module '{name}' here, in src, or installed"):
            as_file(f"{name}:f", installed=True)
    assert names_module("a.b:c") and names_module("a:b")
    assert not any(map(names_module, ("a:b c", "x[1:2]", "a.py:b", "1a:b")))


def test_the_nearest_project_comes_first(folder):
    (folder / "pyproject.toml").touch()
    (folder / "src/pyproject.toml").touch()
    below = [str(folder / "src/pyproject.toml"), str(folder / "pyproject.toml")]
    assert list(project_files(["src/pkg/losses.py:mse", "f.py"]))[:2] == below
    assert list(project_files(["x**2"]))[:1] == below[1:]  # not a file, so this folder
    assert list(project_files([]))[:1] == below[1:]


@pytest.mark.parametrize(
    ("text", "inline", "kind", "inputs"),
    [
        ("x*y", False, ExpressionProgram, ["x", "y"]),
        ("e.expr", False, ExpressionProgram, ["x", "a"]),
        ("e.py", False, ExpressionProgram, ["x"]),
        ("e", True, ExpressionProgram, []),  # with -e: the constant
        ("s.py", False, ScriptProgram, None),
    ],
)
def test_the_program_of_a_target(text, inline, kind, inputs):
    program = load_program(Target(text, inline=inline))
    assert type(program) is kind
    assert program.input_names() == inputs
    assert program.is_script == (kind is ScriptProgram)


def test_a_function_in_a_file():
    program = load_program(Target("f.py:f"))
    assert program.input_names() == ["x"]
    assert program.run({"x": np.array(3.0)}).output.item() == 9


def test_standard_input_is_a_program(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfx + z")))
    assert load_program(Target("-")).input_names() == ["x", "z"]


@pytest.mark.parametrize(
    ("text", "message", "kind"),
    [
        ("missing.py", "no such file: missing.py", "file"),
        ("missing.expr", "no such file: missing.expr", "file"),
        ("src", "src is a directory", "file"),
        ("srcs/", "no such folder: srcs/", "file"),
        ("f.py:", "f.py: no name after the colon", "usage"),
        ("f.py:g", "f.py defines no 'g'", "name"),
        ("missing.py:g", "no such file: missing.py", "file"),
    ],
)
def test_targets_that_do_not_exist_are_errors(text, message, kind):
    with pytest.raises(GradcliError) as raised:
        load_program(Target(text))
    assert (raised.value.message, raised.value.kind) == (message, kind)


def test_an_invalid_expression_is_not_taken_for_a_script():
    with pytest.raises(GradcliError) as raised:
        load_program(Target("bad.expr"))
    assert raised.value.kind == "syntax" and raised.value.span.origin == "bad.expr"
    os.rename("bad.expr", "bad.py")
    with pytest.raises(GradcliError) as raised:
        load_program(Target("bad.py"))  # not Python either
    assert raised.value.kind == "syntax"


@pytest.mark.parametrize(
    ("text", "message"), [("s.py", "is a Python script, which"), ("f.py:f", "f.py is Python, which")]
)
def test_safe_runs_no_python(text, message):
    with pytest.raises(GradcliError, match=f"--safe: .*{message} is not run"):
        load_program(Target(text, Request(safe=True)))
    load_program(Target("e.py", Request(safe=True)))  # an expression


@pytest.mark.parametrize("text", ["x**2", "e.expr", "f.py:f"])
def test_arguments_after_dashes_are_only_for_scripts(text):
    with pytest.raises(GradcliError, match="takes no arguments: --epochs 3"):
        load_program(Target(text, Request(argv=("--epochs", "3"))))
    assert load_program(Target("s.py", Request(argv=("--epochs", "3")))).is_script


def test_run_takes_only_python_files():
    assert load_script(Target("e.py")).is_script  # although it could be an expression
    with pytest.raises(GradcliError, match=r"e\.expr is not a Python script"):
        load_script(Target("e.expr"))


def test_a_file_is_executed_as_a_module():
    assert load_file(Target("f.py:f")).f(3) == 9


@pytest.mark.parametrize(
    ("data", "place", "text"),
    [
        ("é".encode(), "a.expr", "é"),
        (b"\xef\xbb\xbfx", "a.expr", "x"),
        ("# coding: latin-1\né".encode("latin-1"), "a.py", "# coding: latin-1\né"),
    ],
)
def test_text_is_decoded_according_to_its_kind(data, place, text):
    assert decode_source(data, place) == text


def test_text_that_cannot_be_read_is_an_error(folder):
    with pytest.raises(GradcliError, match=r"a\.expr is not UTF-8 text \(byte 2 is 0xff\); is it a binary file\?"):
        decode_source(b"x+\xff", "a.expr")
    with pytest.raises(GradcliError, match="longer than") as raised:
        decode_source(b"x" * (MAX_PROGRAM_BYTES + 1), "a.expr")
    assert raised.value.kind == "limit" and len(decode_source(b"x" * MAX_PROGRAM_BYTES, "a")) == MAX_PROGRAM_BYTES
    for path, message in [("src", "src is a directory"), ("a\0b", "cannot be read"), ("f.py/x", "cannot be read")]:
        with pytest.raises(GradcliError, match=message):
            read_source(path)


def test_parts_of_a_target():
    named, inline = Target("a/f.py:f"), Target("a/f.py:f", inline=True)
    assert (named.path, named.name, named.is_language) == ("a/f.py", "f", False)
    assert (inline.path, inline.name, inline.is_language) == ("a/f.py:f", None, True)
    assert (Target("http://h/m").is_address, Target("http://h/m").is_language) == (True, False)
    assert Target("x**2").is_language and Target("e.expr").is_language and not Target("s.py").is_language
