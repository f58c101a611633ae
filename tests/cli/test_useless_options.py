"""Every option of every command does something where it is given, or is refused."""

import re
import shlex
import shutil

import click
import numpy as np
import pytest

import gradcli
from gradcli.cli.main import cli, main

from ..command import compile_c
from ..program.elsewhere.test_process import model

FILES = {
    "f.py": """
def f(x, k=2):
    return (x**k).sum()

def g(x, k=2):
    return k * x ** (k - 1)

def h(x, k=2):
    return 2 * x ** (k - 1)
""",
    "own.py": """
import gradcli
x = gradcli.tensor([0.1, 0.7], requires_grad=True)
loss = (x**2).sum()
loss.backward()
""",
    "points.csv": "x,y\n0.1,2\n0.7,4\n",
}
REFUSED = [
    ("grad x*y x=1 y=2 --engine torch", "FILE.py:NAME"),
    ("grad own.py --engine torch", "FILE.py:NAME"),
    ("gradcheck x*y x=1 y=2 --engine torch", "FILE.py:NAME"),
    ("gradcheck f.py:f --grad g x=1 --engine gradcli", "written by hand"),
    ("grad x*y x=1 y=2 --config {}", "UM-Bridge"),
    ("grad f.py:f x=1 --config {}", "UM-Bridge"),
    ("grad x*y x=1 y=2 --torch", "Python files"),
    ("grad cmd:cat x0=1 --torch", "Python files"),
    ("grad cmd:cat x0=1 --dtype float32", "runs elsewhere"),
    ("gradcheck cmd:cat x0=1 --symbolic", "runs elsewhere"),
    ("gradcheck cmd:cat x0=1 --digits 20", "runs elsewhere"),
    ("gradcheck cmd:cat x0=1 --value-and-grad", "FILE.py:f"),
    ("gradcheck f.py:f --grad g x=1 --symbolic", "written by hand"),
    ("gradcheck f.py:f --grad g x=1 --digits 20", "written by hand"),
    ("gradcheck x**2 x=1 --list --junit a.xml", "--list checks nothing"),
    ("gradcheck x**2 x=1 --save-points none.json", "the file is not there"),
    ("gradcheck x**2 x=1 --show all -f github", "shows what is wrong"),
    ("grad x**2 x=1 --symbolic -o a.npz", "no formulas"),
    ("grad x**2 x=1 --symbolic -o a.npy", "no formulas"),
    ("grad x**2 x=1 --value -o a.npy", "one array"),
    ("grad x**2 x=1 --retain-all", "no intermediate result has a name"),
    ("grad x**2 x=1 --retain-all --digits 9", "way of its own"),
    ("grad x**2 x=1 --dtype float32 --digits 9", "way of its own"),
    ("grad x**2 x=1 --precision 4 --digits 9", "way of its own"),
    ("jacobian [x] x=1 --plot -f tsv", "it draws"),
    ("grad own.py -g 3", "runs backward itself"),
    ("grad own.py -g 3 --digits 9", "runs backward itself"),
    ("trace own.py -g 3", "runs backward itself"),
    ("graph own.py -g 3 --values", "runs backward itself"),
    ("symbolic own.py -g 3", "runs backward itself"),
    ("symbolic own.py --order 2", "runs backward itself"),
    ("graph x**2 x=1 -g 3", "--values"),
    ("symbolic x**2 --at x=2 -f python", "where it is called"),
    ("symbolic x**2 x=2 --digits 20 -f c", "where it is called"),
    ("grad x*y x=1 y=2 --columns points.csv", "no column"),
]
SHOWN = [
    ("grad x*sum(y^2) x=2 y=[1,3] --symbolic", "x\t10.0\ty[0]**2 + y[1]**2\ny[0]\t4.0\t2*x*y[0]\n"),
    ("grad x^2 x=3 --symbolic --value", "value\t9.0\t\nx\t6.0\t2*x\n"),
    ("grad x^2/y x=3 y=2 --symbolic -f csv", "name,value,formula\nx,3.0,2*x/y\ny,-2.25,-x**2/y**2\n"),
    ("grad x^2 x=3 --symbolic -f latex", "f = 9.0\n\\frac{\\partial f}{\\partial x} = 2 x = 6.0\n"),
    ("jacobian [x^2,x/y] x=1 y=2 --symbolic", "out[1]/y\t-0.25\t-x/y**2\n"),
    ("jacobian [x^2,x/y] x=1 y=2 --symbolic -f csv", "out[1],y,-0.25,-x/y**2\n"),
    ("jacobian [x^2,x] x=3 --symbolic -f latex", r"\begin{bmatrix} 2 x \\ 1 \end{bmatrix} = \begin{bmatrix} 6.0"),
    ("hessian x^2*sum(y) x=3 y=[1,2] --symbolic", "x/y[1]\t6.0\t2*x\n"),
    ("hessian x^3 x=2 --symbolic -f csv", "first,second,value,formula\nx,x,12.0,6*x\n"),
    ("hessian x^3 x=2 --symbolic -f latex", "= 6 x = 12.0\n"),
    ("grad x^2 x=3 --digits 9 --value", "value\t9.0\nx\t6.0\n"),
    ("jacobian x*[1,2] x=3 --plot", "∂out/∂x"),
    ("graph y=x^2;y*3 x=2 --values", "2\tintermediate\tPowBackward0\ty\tx**2\t\t1\t\t4.0\t3.0\n"),
]
WORDS = {
    **{f"library_{name}": "void\\ g()" for name in ("grad", "vjp", "jvp")},
    **dict(pair.split(":", 1) for pair in """
        wrt:y out:u gradient:2.5 engine:gradcli hooks:u=g*2 retain:u columns:points.csv config:{} arguments:k=3
        max_symbols:5 digits:30 mode:fwd chunk_size:1 order:2 at:x=0.3 shapes:x=2 only:last points:5 dtype:float32
        precision:3 samples:2 calls:1000 rtol:1e-3 atol:1e-3 eps:1e-3 show:all junit:a.xml search:20
        symmetric:x spd:x save_points:a.json grad:h vjp:g jvp:g hess:x=y tangent:y=1 verify:none.lock over:y=1:2
        keep:y shard:1/2 table:a.csv
        outs:u dask:nowhere
    """.split()),
}  # fmt: skip
"""A telling value of every option that takes one."""
GUARDS = set("strict detect_anomaly max_elements max_symbols timeout safe seed quiet verbose color precision".split())
"""Options that bound, guard or report: they show where there is something to refuse, to draw, to round or to say."""
CHOOSING = {"keyword", "jobs", "stop", "allow_inconclusive", "bisect", "all", "only", "chunk_size", "mode", "sparse"}
"""Options that choose among several things, or how one is found; with one thing the result is the same."""
BASES = {
    **dict.fromkeys(("grad", "eval", "jacobian", "hessian", "vjp"), "'u = x**2; u*sin(y)' x=0.3 y=2"),
    **dict.fromkeys(("jvp", "hvp"), "'u = x**2; u*sin(y)' x=0.3 y=2 --tangent x=1"),
    **dict.fromkeys(("graph", "trace"), "'u = x**2; u*sin(y)' x=0.3 y=2"),
    "symbolic": "'u = x**2; u*sin(y) + u*cos(y)**2'",
    "gradcheck": "'u = x**2; u*sin(y)' x=0.3 y=2",
    "plot": "'u = x**2; u*sin(y)' --over x=0.3:1 y=2",
    "precision": "'u = 1 - x**2; u*sin(y)' x=0.3:1 y=2 --points 3",
    "lock": "f.py:f --grad g x=[0.3,1]",
}


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Return what runs a command line where the files are: its exit code, and what it prints but for times."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)

    def call(line: str) -> tuple[int, str, str]:
        code = main(shlex.split(line))
        gradcli.set_default_dtype(np.float64)
        out, err = capsys.readouterr()
        return code, re.sub(r'\t\d\.\d{3}\t|"seconds": [\d.e-]+', "", out), err

    return call


@pytest.mark.parametrize(("line", "why"), REFUSED, ids=[line for line, _ in REFUSED])
def test_refused(run, line, why):
    code, out, err = run(line)
    assert (code, out) == (2, "")
    assert all(text in err for text in ("has no use here", why, "hint: "))


@pytest.mark.parametrize(("line", "text"), SHOWN, ids=[line for line, _ in SHOWN])
def test_shown(run, line, text):
    code, out, err = run(line)
    assert (code, err) == (0, "")
    assert text in out


@pytest.mark.parametrize("form", ["tsv", "csv", "latex"])
def test_a_check_is_told_in_every_format(run, form):
    found = run(f"grad x**2 x=3 --check -f {form}")[2]
    assert re.match(r"note: check of x\*\*2: pass, 1\d\.\d digits agree", found)


UNSEEN = {("grad", "json", "with_value"), ("graph", "tsv", "dtype"), ("graph", "tsv", "hooks")}
"""What JSON always has, and columns never show; a hook may print something, or be refused for its name."""
ROUGH = {"gradcheck", "lock"}
"""Commands whose lines are verdicts and names alone."""


@pytest.mark.parametrize("form", ["tsv", "json"])
@pytest.mark.parametrize("command", BASES)
def test_every_option_does_something_or_is_refused(run, command, form):
    """The matrix: an option that is not in one of the lists above has to have a telling value, and to tell."""
    if form == "tsv" and command in ROUGH:
        return
    line = f"{command} {BASES[command]} -f {'text' if (command, form) == ('symbolic', 'tsv') else form}"
    expected = run(line)
    assert expected[0] == 0
    idle = []
    for option in cli.get_command(None, command).params:
        if not isinstance(option, click.Option) or option.name in {*GUARDS, *CHOOSING, "format", "output", "step"}:
            continue
        flag = max(option.opts, key=len)
        if option.name == "expression":
            words = "-e x*x*x"
        else:
            words = flag if option.is_flag else f"{flag} {WORDS[option.name]}"
        found = run(f"{line} {words}")
        wrote = option.name in ("junit", "save_points")
        if found == expected and not wrote and (command, form, option.name) not in UNSEEN:
            idle.append(words)
    assert idle == []


def test_what_runs_elsewhere_is_searched(run, tmp_path):
    wrong = model(tmp_path, gradient="if request['input'][0][0] >= 5: request['input'][0][0] = 3**-0.5")
    code, out, err = run(f'gradcheck "{wrong}" x0=[0.1,0.7] --search 40 -f table -q')
    assert (code, err) == (1, "")
    assert "claimed 1, numeric 75" in out and "found: " in out


@pytest.mark.parametrize("command", ["hessian", "hvp --tangent x0=[1,0]"])
def test_what_runs_elsewhere_has_no_second_derivatives(command, run, tmp_path):
    code, _, err = run(f'{command} "{model(tmp_path)}" x0=[0.1,0.7]')
    assert (code, err) == (3, "error: differentiating failed: what runs elsewhere gives first derivatives only\n")


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a compiler of C")
def test_a_function_of_a_library_has_a_value_without_a_derivative(run, tmp_path):
    (tmp_path / "k.c").write_text("double f(int n, const double *x) { return n * x[0]; }")
    compile_c(tmp_path / "k.c", tmp_path / "k.so")
    target = "'k.so:double f(int n, const double *x)' x=[1,2,3]"
    assert run(f"eval {target}") == (0, "value\t3.0\n", "")
    advices = {"grad": "'gradcli eval' gives its value", "gradcheck": "hint: add --grad 'void f_grad("}
    for command, advice in advices.items():
        code, out, err = run(f"{command} {target}")
        assert (code, out) == (2, "")
        assert advice in err


def test_a_search_after_a_fail_does_not_call_the_claim_right(run):
    out = run("gradcheck f.py:f --grad h x=[1,2] k=3 --wrt x --search 20 -f table")[1]
    assert "fail" in out
    assert "none at which the claim is wrong" not in out
