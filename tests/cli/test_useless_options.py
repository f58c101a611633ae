"""Every option of every command does something where it is given, or is refused: tests/cases/useless_options.txt."""

import re
import shlex

import click
import numpy as np
import pytest

import gradcli
from gradcli.cli.main import cli, main

FILES = {
    "f.py": """
def f(x, k=2):
    return (x**k).sum()

def g(x, k=2):
    return k * x ** (k - 1)

def h(x, k=2):
    return 2 * x ** (k - 1)
""",
    "points.csv": "x,y\n0.1,2\n0.7,4\n",
}
WORDS = {
    **{f"library_{name}": "void\\ g()" for name in ("grad", "vjp", "jvp")},
    **dict(pair.split(":", 1) for pair in """
        direction:LR
        wrt:y out:u gradient:2.5 engine:gradcli hooks:u=g*2 retain:u columns:points.csv config:{} arguments:k=3
        max_symbols:5 digits:30 mode:fwd chunk_size:1 order:2 at:x=0.3 shapes:x=2 only:last points:5 dtype:float32
        precision:3 samples:2 calls:1000 rtol:1e-3 atol:1e-3 eps:1e-3 show:all junit:a.xml search:20
        symmetric:x spd:x save_points:a.json grad:h vjp:g jvp:g hess:x=y tangent:y=1 verify:none.lock over:y=1:2
        keep:y shard:1/2 table:a.csv
        outs:u dask:nowhere reference:h
    """.split()),
}  # fmt: skip
"""A telling value of every option that takes one."""
GUARDS = set("strict detect_anomaly max_elements max_symbols timeout safe seed quiet verbose color precision".split())
"""Options that bound, guard or report: they show where there is something to refuse, to draw, to round or to say."""
CHOOSING = set("keyword jobs stop allow_inconclusive exit_zero bisect all only chunk_size mode sparse python".split())
"""Options that choose among several things, or how one is found; with one thing the result is the same."""
DEPRECATED = {"fast"}
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
        if not isinstance(option, click.Option) or option.name in {
            *GUARDS,
            *CHOOSING,
            *DEPRECATED,
            "format",
            "output",
            "step",
        }:
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
