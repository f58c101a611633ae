"""Random hostile command lines for tables, locks, mutants, searches, precision and pages, by group."""

import random
import struct
import sys
from pathlib import Path

from .hostile import NUMBERS, WEIRD, archive, header
from .outside import group, words

CELLS = (
    "1", "-1", "", "nan", "inf", "1e999", "5e-324", "0x1", "1_0", "१", "abc", '"1"', '"a\nb"', '"', "[1,2]",
    '"[1,2]"', '"[[1],[2]]"', '"[1,[2]]"', "[", '"[null]"', f'"[{"9" * 400}]"', '"' + "[" * 2000 + '"', "9" * 5000,
    "True", "1;2", "\x00", "\x1b[2J", "2j", " 1 ", "+1", "1e",
)  # fmt: skip
HEADINGS = (
    "x", "x,y", "x,x", "", "1,2", '"x\ty",x', "x;y", "\ufeffx", "x\x1b[2J", "x,", "a b,x", "d_x,x", "value,x", "X",
    "x.a", "x[0]", "<script>,x",
)  # fmt: skip
PROGRAMS = (
    "x**2", "x*y", "sum(x)", "x[0]", "1/x", "log(x)", "x*0", "1", "[x, x]", "zeros(10**12)*x", "x @ x", "sqrt(x)*1j",
    "randn(3).sum()*x", "x if x > 0 else -x", "det([[x,1],[1,x]])", "y = x; y", "", "x +", "svdvals(zeros(2,2)+x)[0]",
    "x**x**x", "sin(x)*1e308*10", "einsum('i->', [x])", "floor(x)", "x % 0",
)  # fmt: skip
OUTPUTS = (
    "out.csv", "out.tsv", "out.parquet", "out.npy", "out", "-", "sub/out.csv", "/dev/full", "points.csv", "a\nb.csv",
    "::error.csv", ".csv", "out.csv.gz",
)  # fmt: skip


def table(rng: random.Random) -> str:
    ending = rng.choice((".csv", ".csv", ".csv", ".tsv", ".npy", ".parquet", ".txt", ""))
    heading = rng.choice(HEADINGS)
    rows = [
        ",".join(rng.choice(CELLS) for _ in range(rng.choice((1, heading.count(",") + 1))))
        for _ in range(rng.choice((0, 1, 3)))
    ]
    text = "\n".join([heading, *rows, rng.choice(("", "", '"', ",,,"))]).encode("utf-8", "replace")
    record = rng.choice((f"({rng.randrange(9)},)", "(10**12,)", "(-1,)"))
    npy = header(record, rng.choice(("<f8", "|O")))
    fields = header("(1,)").replace(b"'<f8'", b"[('x', '<f8')]") + bytes(8)
    footer = b"PAR1" + rng.randbytes(20) + struct.pack("<I", rng.choice((4, 10**9))) + b"PAR1"
    content = rng.choice(
        (text, text, text, text, npy, fields, footer, rng.randbytes(60), b"", archive(["x.npy"], npy, True))
    )
    name = rng.choice(("points", "points", "a b", "-p", "a\tb")) + ending
    Path(name).write_bytes(content)
    return name if not name.startswith("-") else f"./{name}"


def number(rng: random.Random) -> str:
    """Return a number, or text that is not a number."""
    return rng.choice((*NUMBERS, "1", "2", "-1", "", "x", "1e9"))


@group
def sweeps(rng: random.Random) -> list[str]:
    """Return a sweep in which one thing is hostile."""
    aspect = rng.choice(("program", "table", "table", "output", "there", "option", "value"))
    program, output, value = "x**2*y", "out.csv", "y=2"
    place, more = "points.csv", rng.choice(([], ["--json"], ["--diag"]))
    Path(place).write_text("x,z\n1,a\n2,b\n-0,\n")
    if aspect == "program":
        program, value = rng.choice(PROGRAMS), ""
    elif aspect == "table":
        place = table(rng)
    elif aspect == "output":
        output = rng.choice(OUTPUTS)
    elif aspect == "there":
        junk = rng.choice(JUNK)
        Path(f"{output}.parts").mkdir()
        Path(f"{output}.parts", "sweep.json").write_bytes(junk)
        if rng.random() < 0.5:
            Path(output).write_text("old")
        else:
            part = rng.choice(("0", "junk", "0.csv", "part-00000-0.csv", "00000000.0.csv"))
            Path(f"{output}.parts", part).write_bytes(junk)
    elif aspect == "value":
        value = rng.choice((f"y={number(rng)}", "x=1", "y=[1,2]", "y=@points.csv", "z=1"))
    else:
        more = rng.choice((
            ["--keep", rng.choice(("x", "z", "", "x,x", "é"))],
            ["--shard", rng.choice(("1/2", "0/2", "x", "1/99999999999", "2/2"))],
            ["-j", rng.choice(("0", "1", "x"))], ["--wrt", rng.choice(("x", "z", "y", "x,x"))],
            ["--diag"], ["--seed", number(rng)], ["--restart", "--json"],
            ["--max-elements", number(rng)],
        ))  # fmt: skip
    return ["sweep", "-e", program, place, value, "-o", output, *more]


JUNK = (
    *(b"old", b"{}", b"[]", b"[" * 3000, b'{"made from": 1}', b'{"made from": {}}', b"\xff"),
    *(b'{"made from": {"program": null}}', b'{"made from": {}, "block": "x", "not_finite": []}', b'{"block": 0}'),
)
"""Contents of the file in which a sweep records what it was made from."""


CHECK = """import gradcli
def g(x): {body}
@gradcli.check(at={at}, grad=g, name={name!r})
def f(x): return {value}
"""
BODIES = (
    "return 2 * x", "return 3 * x", "return None", "return x[0]", "raise ValueError({weird!r})",
    "return {{'x': 2 * x}}", "return np.nan * x", "return -2 * x", "return 2 * x + 1e-9", "return np.zeros((2, 2))",
    "return 'x'", "return 2j * x", "global n; n = globals().get('n', 0) + 1; return 2 * x + n", "return x @ x",
    "pass", "yield x", "return lambda: x",
)  # fmt: skip
VALUES = (
    "x @ x", "x.sum() * np.inf", "np.nan", "x * x", "(x * 0).sum()", "np.random.rand()", "float(x[0])", "1",
    "x @ x + 1j", "abs(x).sum()", "'x'", "x[5]", "10 ** 400", "x @ x / 0",
)  # fmt: skip
POINTS = (
    '{"x": [1.0, 2.0]}', '{"x": (2,)}', '{"x": []}', '{"x": [0.0, -0.0]}', '{"x": [1e308, 1]}', '{"x": None}',
    '{"\\x1b[2J": [1.0]}', "lambda rng: {'x': rng.normal(size=2)}", "{}", "3",
)  # fmt: skip


def checks(rng: random.Random, name: str = "checks.py") -> None:
    weird = rng.choice(WEIRD)
    text = CHECK.format(
        body=rng.choice(BODIES).format(weird=weird), at=rng.choice(POINTS), name=weird, value=rng.choice(VALUES)
    )
    Path(name).write_text(text, errors="replace")


@group
def names(rng: random.Random) -> list[str]:
    """Return a command with names, paths or messages that a page, log, database or terminal would interpret."""
    checks(rng)
    weird = rng.choice(WEIRD).replace("\x00", "").encode("utf-8", "replace").decode()
    safe = weird.replace("/", "_")[:60]
    Path("p.expr").write_text(f"# {weird}\nx**2 # {weird}\n", errors="replace")
    Path(f"{safe}.py").write_text(f"def f(x): raise ValueError({weird!r})\n", errors="replace")
    forms = "html sarif csv github json tsv table dot mermaid latex svg npz text python c"
    given = {"weird": weird, "safe": safe, "form": rng.choice(forms.split())}
    line = rng.choice((
        "gradcheck checks.py -f {form} --show all", "gradcheck checks.py -f {form} --junit j.xml --taylor",
        "gradcheck checks.py -o r.{form}", "gradcheck checks.py --search 5 -f {form}", "symbolic p.expr -f {form}",
        "symbolic x**2+{weird} -f {form}", "trace p.expr x=1 -f html", "trace checks.py:f x=[1,2] -f {form}",
        "graph checks.py:f x=[1,2] -f {form}", "eval checks.py:f x=[1,2] -f {form}", "eval x*{weird} x=1 -f csv",
        "gradcheck checks.py -f html", "grad {safe}.py:f x=2 -f {form}", "trace {safe}.py:f x=2 -f {form}",
        "gradcheck checks.py --list -f {form}", "grad x*{weird} x=1 -f {form}", "graph -e x*2#{weird} x=1 -f {form}",
        "grad x*2 {weird}=1 -f {form}", "grad x*2 x=2 -o {safe}.{form}", "grad missing{safe}.py",
        "grad x*2 x=1 --retain {weird} -f {form}",
    ))  # fmt: skip
    return words(line, **given)


DOCUMENTS = (
    b"", b"{}", b"[]", b"null", b'{"schema": "gradcli/1"}', b'{"schema": "gradcli/1", "checks": {}}',
    b'{"schema": "gradcli/1", "checks": [1]}', b"[" * 5000, b"\xff\xfe",
    b'{"schema": "gradcli/1", "points": [{"file": "checks.py", "check": "f", "at": '
    b'{"x": {"dtype": "c16", "data": [1]}}}]}',
    b'{"schema": "gradcli/1", "points": [{"file": 1, "check": [], "at": {"x": [[1], [2, 3]]}}]}',
)  # fmt: skip
ENTRY = (
    '{{"schema": "gradcli/1", "checks": [{{"file": {file}, "check": {check}, "at": {at}, "value": {value}, '
    '"value_error": {error}, "grad": {grad}, "error": {error}}}]}}'
)
PARTS = (
    "1", "null", "[]", "{}", '{"x": 1}', '{"x": [1, 2]}', '"x"', "[[1], [2, 3]]", '{"x": {"dtype": "O", "data": 1}}',
    '{"x": {"dtype": "c16", "data": [1]}}', f'{{"x": {10**400}}}', '{"x": "nan"}', "NaN", "true", '"\\u001b[2J"',
    '{"dtype": [], "data": 0}',
)  # fmt: skip


@group
def locks(rng: random.Random) -> list[str]:
    """Return a command that writes, or verifies, a crafted file of locked gradients or saved points."""
    checks(rng)
    if rng.random() < 0.5:
        entry = {key: rng.choice(PARTS) for key in ("check", "at", "value", "grad", "error")}
        text = ENTRY.format(file=rng.choice(('"checks.py"', "null", "1", "[]")), **entry).encode()
    else:
        text = rng.choice(DOCUMENTS)
    Path("l.lock").write_bytes(text)
    given = {"program": rng.choice(PROGRAMS), "number": number(rng), "grad": rng.choice(("g", "missing", "f"))}
    given |= {"place": rng.choice(("missing", ".", "/dev/null", "checks.py"))}
    more = rng.choice(("", "--json", "-f table"))
    line = rng.choice((
        f"lock --verify l.lock {more}", f"lock --verify l.lock checks.py {more}", f"lock checks.py -o l.lock {more}",
        "lock checks.py:f x=[1,2] --grad {grad}", f"lock -e {{program}} x={{number}} {more}", "lock .",
        f"lock --verify {{place}} {more}", f"gradcheck checks.py --save-points l.lock --search 3 {more}",
    ))  # fmt: skip
    return words(line, **given)


@group
def searches(rng: random.Random) -> list[str]:
    """Return a command that searches for a wrong point, or counts digits, in a hostile program."""
    checks(rng)
    given = {"program": rng.choice(PROGRAMS), "low": number(rng), "high": number(rng)}
    given |= {"count": rng.choice(("1", "5", "0", "-1", "x"))}
    given |= {"shape": rng.choice(("", "0", "2", "2,2", "-1", "10**6", "x"))}
    given |= {"range": rng.choice(("x=1:2", "x=2:1", "x=1:1", "x=", "y=1:2", "x=1:2:3", "x=[1,2]"))}
    form = rng.choice(("", "--json"))
    more = rng.choice(("", "--json", "--digits 20"))
    line = rng.choice((
        f"gradcheck checks.py --search {{count}} {form}", "gradcheck -e {program} x={low} --search 5",
        "gradcheck -e {program} --shape x={shape} --search 3 --samples 2",
        f"precision -e {{program}} x={{low}}:{{high}} {more}", f"precision -e {{program}} {{range}} {more}",
        f"precision checks.py:f x=1:2 {more}", f"eval -e {{program}} x={{low}} --strict {form}",
    ))  # fmt: skip
    return words(f"{line} --timeout 3", **given)


SUITES = (
    "import checks\nassert checks.g(1.0) == 2", "import checks", "pass", "import os; os._exit(0)",
    "import checks\nchecks.g('x')", "import checks; checks.g(1.0); checks.g = None",
    "import checks\nwhile checks.g(1.0) == 2: break\nelse:\n import time; time.sleep(9)",
    "import os, checks; os.remove('checks.py'); checks.g(2.0)",
    "print('\\x1b[2J' * 9)\nimport checks\nassert checks.g(1.0) > 0",
)  # fmt: skip


@group
def mutants(rng: random.Random) -> list[str]:
    """Return a command that runs hostile tests on mutants of a hostile function."""
    checks(rng)
    Path("suite.py").write_text(rng.choice(SUITES))
    command = rng.choice((
        [sys.executable, "suite.py"], [sys.executable, "suite.py"], ["true"], ["false"], ["missing"], [""],
        ["sh", "-c", "kill -9 $$"], [sys.executable, "-c", "import checks"], ["cat"],
    ))  # fmt: skip
    target = rng.choice((
        "checks.py:g", "checks.py:g", "checks.py:f", "checks.py:missing", "checks.py", "suite.py:g", "x**2",
        "json:loads", ".", "",
    ))  # fmt: skip
    more = rng.choice(([], ["--json"], ["--at-least", number(rng)]))
    return ["mutate", target, "--timeout", "1", *more, "--", *command]
