"""How commands read their words and options, and how they report a result."""

from types import SimpleNamespace

import click
import numpy as np
import pytest

from gradcli.claims.open import load_program
from gradcli.cli import messages
from gradcli.cli.options import Call, guess_kind, join_words, show_result, target_command
from gradcli.errors import GradcliError
from gradcli.lang.limits import CPU_SECONDS, Bound
from gradcli.program.target import Target
from gradcli.request import Request
from gradcli.results.base import Gradients, InputGradient, Value
from gradcli.results.formats import ARRAY_FORMATS
from gradcli.tape.dtypes import get_default_dtype, set_default_dtype


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working directory with files. Restores message settings and the default type afterwards."""
    texts = {
        "f.py": "def f(x): return x",
        "s.py": "x = 1",
        "c.py": "import gradcli\ngradcli.check(f, at={})",
        "points.csv": "x,y,z\n1,2,a\n3,4,b\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "sub").mkdir()
    for name, value in {"color": "never", "quiet": False, "verbose": False, "stream": None}.items():
        monkeypatch.setattr(messages.settings, name, value)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    set_default_dtype(np.float64)


@pytest.mark.parametrize(
    ("text", "command", "kind"),
    [
        ("x**2", "grad", "expression"),
        ("f.expr", "grad", "expression"),
        ("f.py", "grad", "script"),
        ("f.py:f", "grad", "function"),
        ("pkg.losses:mse", "grad", "function"),
        ("sub", "grad", "checks"),
        ("c.py", "gradcheck", "checks"),
        ("c.py", "grad", "script"),  # only gradcheck and lock read declared checks
        ("s.py", "lock", "script"),
        ("http://localhost:4242/forward", "grad", "umbridge"),
        ("cmd:python server.py", "grad", "umbridge"),
        ("./libm.so.6:double sin(double x)", "grad", "library"),
        ("model.fmu", "grad", "fmu"),
        ("ase:calc.py:make CO", "grad", "ase"),
    ],
)
def test_the_kind_of_a_target(text, command, kind):
    assert guess_kind(text, command) == kind


def call(*words, formats=ARRAY_FORMATS, **asked):
    return Call(Request(words=words, **asked), formats)


def test_the_kinds_of_a_call_are_those_of_its_targets():
    assert call("x**2", "x=2").kinds == {"expression"}
    assert call("f.py:f", "s.py", "k=2").kinds == {"function", "script"}
    assert call("x==2").kinds == {"expression"}  # the first word is the target, whatever it contains
    assert call("x=2", expression="x**2").kinds == {"expression"}
    assert call("f.py:f").is_any("script", "function") and not call("f.py:f").is_any("script")


def test_the_target_is_the_first_word_or_given_by_e():
    first, inline = call("f.py:f", "x=2"), call("x=2", expression="f.py")
    assert (first.target().text, first.target().inline, first.words) == ("f.py:f", False, ("x=2",))
    assert (inline.target().text, inline.target().inline, inline.words) == ("f.py", True, ("x=2",))


def test_values_come_from_words_files_and_arg():
    assert call("x*y", "x=[1, 2]", "y=3").values()["x"].tolist() == [1, 2]
    assert call("f.py:f", "x=name").values() == {"x": "name"}  # a string, since the target is a Python function
    assert call("x", arguments=('k={"a": [1]}',)).values() == {"k": {"a": [1]}}
    np.savez("both.npz", x=1.0, y=2.0)
    assert call("x*y", "@both.npz", "y=5").values() == {"x": 1.0, "y": 5.0}  # a word overrides a file
    for words, message in [
        (("x", "x=1", "x=2"), "'x' is given twice"),
        (("x", "2"), "'2' is not NAME=VALUE"),
        (("x", "x=name"), "cannot use the name 'name'"),  # an expression has no strings
    ]:
        with pytest.raises(GradcliError, match=message):
            call(*words).values()


def test_columns_are_the_inputs_without_a_value():
    program, values = call("x*y", "y=2", columns="points.csv").program()
    assert values["x"].tolist() == [1, 3] and values["y"] == 2
    assert program.run(values).output.detach().tolist() == [2, 6]
    with pytest.raises(GradcliError, match=r"no column of points\.csv is an input without a value"):
        call("a*b", columns="points.csv").program()
    with pytest.raises(GradcliError, match="'a' is not a number"):
        call("x*z", columns="points.csv").program()


@pytest.mark.parametrize(
    ("text", "timeout", "expected"),
    [
        ("x**2", None, Bound(CPU_SECONDS, cpu=True)),
        ("x**2", 2.0, Bound(2.0)),
        ("f.py:f", None, None),
        ("f.py:f", 2.0, Bound(2.0)),
        ("http://localhost:1/f", 2.0, None),  # here it limits each response instead
    ],
)
def test_time_limits(text, timeout, expected):
    made = call(text, timeout=timeout)
    found = made.bound(Target(text, made.request))
    assert vars(found or object.__new__(Bound)) == vars(expected or object.__new__(Bound))


def test_hooks_are_names_and_actions():
    found = call("x", hooks=("k=print", "net.f1=g*2")).hooks()
    assert [(hook.name, hook.action) for hook in found] == [("k", "print"), ("net.f1", "g*2")]
    for word in ("k", "=print", "k="):
        with pytest.raises(GradcliError, match="write NAME=ACTION"):
            call("x", hooks=(word,)).hooks()


def test_the_incoming_gradient_is_read_as_a_value():
    assert call("x", gradient="[1, 2]").asked().gradient.tolist() == [1, 2]
    assert call("x").asked(wrt=["x"]).wrt == ["x"]


def test_project_settings_apply_unless_the_command_line_overrides_them(folder):
    (folder / "pyproject.toml").write_text("[tool.gradcli]\njobs = 3\ntimeout = 9\npaths = ['sub', 'c.py']\n")
    made = call("f.py:f", timeout=2.0, named=frozenset({"timeout"}))
    made.use_project()
    assert (made.request.jobs, made.request.timeout, made.request.words) == (3, 2.0, ("f.py:f",))
    for inline, words in [(None, ("sub", "c.py")), ("x**2", ())]:
        made = call(expression=inline)
        made.use_project()
        assert (made.request.words, made.request.timeout) == (words, 9)


def test_gradients_of_scripts_are_explained_by_why():
    for text, torch, expected in [
        ("c.py", False, "gradcli why c.py"),
        ("c.py", True, "gradcli why --torch c.py"),
        ("x**2", False, ""),
    ]:
        made = call(text, torch=torch)
        assert made.why(load_program(Target(text))) == expected


def test_words_are_joined_as_in_a_sentence():
    assert [join_words(words, "or") for words in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a or b", "a, b or c"]


seen: dict = {}


@target_command(
    "Example: gradcli probe x",
    names="wrt elementwise value_and_grad library_grad direction retain_all steps gradient",
    common="expression dtype seed format output precision color quiet verbose",
    formats=("table", "tsv", "svg"),
)
def probe(call, **own):
    """Keep what a command is called with."""
    seen.update(call=call, own=own)


def run(*words):
    seen.clear()
    return probe.main(list(words), "probe", standalone_mode=False, obj=("after", "--"))


def test_options_are_fields_of_the_request_or_arguments_of_the_command():
    assert run("x*y", "x=2", "--wrt", "x,y", "--seed=3", "-q", "--retain-all", "--dtype", "float32") == 0
    request = seen["call"].request
    assert (request.words, request.argv, request.command) == (("x*y", "x=2"), ("after", "--"), "probe")
    assert (request.wrt, request.seed, request.dtype, request.quiet) == (["x", "y"], 3, "float32", True)
    assert request.named == {"words", "wrt", "seed", "quiet", "retain_all", "dtype"}
    assert seen["own"]["retain_all"] is True and "wrt" not in seen["own"]
    assert get_default_dtype() == np.float32


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("x", "--grad", "void g()"), "--grad is for C libraries .* only"),
        (("x", "--value-and-grad"), "--value-and-grad is for FILE.py:NAME only"),
        (("f.py:f", "--elementwise"), "--elementwise needs --grad"),
        (("x", "--direction", "LR"), "--direction has no effect on tsv output"),
        (("x", "--steps", "-g", "1", "-f", "table"), "--steps cannot be combined with --gradient"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(words, message):
    with pytest.raises(GradcliError, match=message):
        run(*words)
    assert not seen


@pytest.mark.parametrize(
    "words",
    [("f.py:f", "--value-and-grad", "--elementwise"), ("x", "--direction", "LR", "-o", "a.svg"), ("--wrt", "x")],
)
def test_an_option_with_what_it_needs_is_accepted(words):
    assert run(*words) == 0
    assert seen


def result(grad=1.0, **more):
    x = np.float64(2.0)
    return Gradients(
        "t", np.float64(4.0), (InputGradient("x", x, None if grad is None else np.float64(grad)),), {}, **more
    )


AGREES, DIFFERS = (
    SimpleNamespace(name="x", agrees=agrees, notes=("odd",), texts=np.array("2*x")) for agrees in (True, False)
)
FAILED = SimpleNamespace(name="f", verdict="fail", headline=lambda: "wrong")


@pytest.mark.parametrize(
    ("shown", "strict", "code", "said"),
    [
        (None, False, 0, ""),
        (3, False, 3, ""),
        (result(), False, 0, ""),
        (result(), True, 0, ""),
        (
            result(np.nan),
            False,
            0,
            "warning: the gradient of x contains nan\nhint: --detect-anomaly names the operation",
        ),
        (result(np.nan), True, 1, "error: the gradient of x is nan"),
        (result(np.inf), False, 0, ""),
        (result(np.inf), True, 1, "error: the gradient of x is inf"),
        (
            result(np.nan, anomaly=("made by log", None)),
            False,
            0,
            "warning: the gradient of x contains nan: made by log",
        ),
        (result(symbolic=(AGREES,)), False, 0, "note: x: odd"),
        (result(symbolic=(DIFFERS,)), False, 1, "warning: the formulas and the engine disagree on x"),
        (result(check=FAILED), False, 1, "note: check of f: fail, wrong"),
        (result(0.0, detached=True), False, 0, "so all gradients are zeros"),
        (result(None, detached=True), False, 0, "so all gradients are none"),
        (Value("t", np.float64(np.nan)), False, 0, "warning: the value contains nan\n"),
    ],
)
def test_a_result_determines_exit_code_and_messages(shown, strict, code, said, capsys):
    out = Call(Request(format="raw"), ARRAY_FORMATS).output
    assert show_result(out, shown, strict) == code
    written = capsys.readouterr()
    assert said in written.err if said else written.err == ""
    assert bool(written.out) == (shown is not None and shown != 3)


def test_unused_inputs_are_named(capsys):
    shown = SimpleNamespace(unused=("y",), rows=lambda: [("x", 1.0)])
    assert show_result(Call(Request(format="tsv"), ARRAY_FORMATS).output, shown) == 0
    assert "the output does not depend on 'y'; its derivatives are zeros" in capsys.readouterr().err


def test_a_command_without_a_target_shows_an_example():
    with click.Context(probe), pytest.raises(GradcliError, match="no TARGET given") as raised:
        call().target()
    assert raised.value.hint == "for example: gradcli probe x"
