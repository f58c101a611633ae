"""Machine code gives what the engine gives, to 1e-14 of each column's largest; what it does not take, it names."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from gradcli.analysis.compiled import build
from gradcli.analysis.compiled.evaluate import Compiled, source_of
from gradcli.analysis.compiled.expression import RefusedError
from gradcli.analysis.sweep.rows import Interpreted, Question
from gradcli.program.target import Target, load_program
from gradcli.rules import full_table

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]
TABLE = full_table()
FUNCTIONS = sorted(n for n, p in TABLE.items() if p.kind == "elementwise" and p.public and n != "threshold")
TAKEN = """
    absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt ceil celu clip copysign cos cosh deg2rad
    divide elu erf erfc exp exp2 expm1 floor floor_divide fmax fmin fmod frac gelu hardshrink hardsigmoid hardswish
    hardtanh hypot leaky_relu lerp log log10 log1p log2 logaddexp logaddexp2 logit logsigmoid maximum minimum mish
    multiply negative positive power rad2deg reciprocal relu relu6 remainder round rsqrt selu sigmoid sign silu sin
    sinh softplus softshrink softsign sqrt square subtract tan tanh tanhshrink trunc xlog1py xlogy
""".split()
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-300, 3.0, 30.0, -800.0]
PROGRAMS = """
    x**2*sin(y) + exp(-x*y)
    n = zeros(2); n[0] = x; n[1] = y*x; sum(n**3)
    const(x)*y**3 + prod([x, y, x*y]) + cumsum([x, y, 2*x])[2]**2
    A = [[x, y], [1, x]]; trace(A @ A @ A) + sum(A.T[0])
    mean([x, y]) + var([x, y, 1]) + std([x, 3, y]) + norm([x, y])
    (x > 0.3)*y*x + (x if not (x > 0.5 and y < 0.5) else y**2)
    sum(where([x, y] > 0.5, 1, [y, x]))*x
    a = [x, y]; a[::-1] @ [1, 2] * x
    x**3 + x**-2 + x**2.5 + 2**x + x**0.5 + y**x
    exp(sin(cos(x*y)))*tanh(x + exp(y))
    x % 0.3 + y // 0.1*x + x*pi
    y + 0*x + 3
    x / (x - x) + y
""".strip().splitlines()


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """Leave the user's cache alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def columns_of(name: str, rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """Return points in the domain of a function, under names of its own."""
    domains = [*TABLE[name].domain, *[(-3, 3)] * 3][: TABLE[name].arity]
    return {f"{letter}_{name}": rng.uniform(*domain, rows) for letter, domain in zip("xyz", domains, strict=False)}


def question(text: str, names: tuple[str, ...], outs: tuple[str | None, ...] = (None,)) -> Question:
    return Question(load_program(Target(text)), {}, names, names, outs, True)


def compare(asked: Question, columns: dict[str, np.ndarray], special: dict[str, np.ndarray] | None = None) -> None:
    compiled, interpreted = Compiled(asked), Interpreted(asked)
    for rows in (columns, special or {}):
        if not rows:
            continue
        found, wanted = compiled(rows), interpreted(rows)
        assert list(found) == list(wanted)
        for name, ours in found.items():
            theirs = np.asarray(wanted[name], float)
            assert ours.shape == theirs.shape
            assert (np.isnan(ours) == np.isnan(theirs)).all(), name
            np.testing.assert_array_equal(ours[np.isinf(theirs)], theirs[np.isinf(theirs)])
            finite = np.isfinite(theirs)
            largest = np.abs(theirs[finite]).max(initial=0.0)
            assert (np.abs(ours - theirs)[finite] <= 1e-14 * largest).all(), name


def test_what_is_taken():
    taken = []
    for name in FUNCTIONS:
        names = tuple(columns_of(name, np.random.default_rng(0), 1))
        try:
            source_of(question(f"{name}({', '.join(names)})", names), dict.fromkeys(names, ()))
            taken.append(name)
        except RefusedError as error:
            assert error.message == f"'{name}' is not compiled" or error.message.startswith("the program (")
    assert taken == TAKEN


@pytest.mark.parametrize("names", [TAKEN[i : i + 12] for i in range(0, len(TAKEN), 12)], ids=lambda names: names[0])
def test_every_function_that_is_taken(names):
    rng = np.random.default_rng(1)
    columns = {key: x for name in names for key, x in columns_of(name, rng, 500).items()}
    lines = [f"o_{name} = {name}({', '.join(columns_of(name, rng, 1))})" for name in names]
    asked = question("\n".join(lines), tuple(columns), tuple(f"o_{name}" for name in names))
    grid = np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1)
    special = {
        key: grid[int(key.startswith("y"))] if key[0] != "z" else np.full(grid.shape[1], 0.5) for key in columns
    }
    compare(asked, columns, special)


@pytest.mark.parametrize("text", [line.strip() for line in PROGRAMS])
def test_programs(text):
    rng = np.random.default_rng(2)
    program = load_program(Target(text))
    columns = {name: rng.uniform(0.1, 0.9, 1300) for name in program.input_names()}
    compare(question(text, tuple(columns)), columns)


def test_rows_of_arrays_and_inputs_without_a_column():
    rng = np.random.default_rng(3)
    program = load_program(Target("sum(a*v)**2 * k"))
    asked = Question(program, {"k": np.array(3.0), "a": np.array([1.0, 2.0, 3.0])}, ("v",), ("v", "k"), (None,), True)
    compare(asked, {"v": rng.normal(size=(700, 3))})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("solve([[x, 1], [1, y]], [1, 2])[0]", "'solve'"),
        ("gamma(x)*y", "'gamma'"),
        ("max([x, y])", "'max'"),
        ("2j*x*y", "a constant of type complex"),
        ("softmax([x, y])[0]", "'softmax'"),
    ],
)
def test_refused_by_name(text, what):
    with pytest.raises(RefusedError, match="is not compiled") as refused:
        source_of(question(text, ("x", "y")), {"x": (), "y": ()})
    assert refused.value.message.startswith(what)


def test_libraries_are_kept_by_content(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = source_of(question("x*y", ("x", "y")), {"x": (), "y": ()})
    build.load(source)
    (library,) = Path(tmp_path, "gradcli").glob("*.so")
    made = library.stat().st_mtime_ns
    build.load(source)
    assert library.stat().st_mtime_ns == made
    build.load(source.replace("512", "256"))
    assert len(list(Path(tmp_path, "gradcli").iterdir())) == 2


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_no_compiler_is_a_reason(compiler, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked = question("x*y", ("x", "y"))
    with pytest.raises(RefusedError, match="C compiler"):
        Compiled(asked).prepare({"x": np.ones(1), "y": np.ones(1)})
