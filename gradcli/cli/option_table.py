"""Options that commands share, each declared once, and what they accept: numbers, names, shapes.

`import_completion` says what a shell may offer for them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial
from typing import Any

import click

from ..errors import GradcliError
from ..lang.limits import MOST_AXES, as_written
from ..request import DEFAULT_MAX_ELEMENTS, ENGINES, SHORT


def import_completion(what: str) -> Callable:
    """Return the completion of that name (in complete.py), to be imported when a shell asks."""

    def call(ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
        from .complete import offer

        return offer(what, ctx, param, incomplete)

    return call


MOST_COUNTED = 10**30
"""More than any machine counts: the bound of limits that only the machine has."""


class Count(click.types.IntParamType):
    """A whole number, also as 1e6, with a bound on either side, so that no count makes a command hang."""

    def __init__(self, most: int, *, least: int = 1):
        self.min, self.max = least, most

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            count = int(value)
        except ValueError:
            short = re.fullmatch(r"(\d+)[eE]\+?(\d{1,2})", str(value))
            if short is None:
                self.fail(f"{value!r} is no whole number", param, ctx)
            count = int(short[1]) * 10 ** int(short[2])
        if not self.min <= count <= self.max:
            bounds = f"from {self.min} to {self.max}" if self.max < MOST_COUNTED else f"{self.min} or more"
            self.fail(f"{value} is not {bounds}", param, ctx)
        return count


def as_finite(ctx: Any, param: Any, value: Any, positive: bool = False) -> float | None:
    """Return a finite number, zero or more (more than zero if positive); None where none is given."""
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0 or (positive and not number):
        message = f"'{value}' is no finite number {'above 0' if positive else 'from 0 on'}"
        raise click.BadParameter(message, ctx, param)
    return number


as_positive = partial(as_finite, positive=True)


def as_pass(ctx: Any, param: Any, text: str | None) -> int | None:
    """Return the number of a run of backward, from 1, or 0 for `last`; None where none is given."""
    if text is None:
        return None
    if text == "last":
        return 0
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise click.BadParameter(f"'{text}' is neither last nor a number from 1 on", ctx, param)
    return int(text)


def as_name(ctx: Any, param: Any, given: Any) -> Any:
    """Return the name that an option gives, or the names of a repeatable one, as a program's names are read."""
    if given is None:
        return None
    return as_written(given) if isinstance(given, str) else tuple(as_written(name) for name in given)


def once(ctx: Any, param: Any, values: tuple[str, ...]) -> str | None:
    if len(values) > 1:
        raise click.BadParameter("it is given twice", ctx, param)
    return values[0] if values else None


def one_or_all(ctx: Any, param: Any, values: tuple[str, ...]) -> Any:
    """Return the value of a repeatable option, all of several, None for none."""
    return values if len(values) > 1 else next(iter(values), None)


def as_names(ctx: Any, param: Any, values: tuple[str, ...]) -> list[str] | None:
    """Return comma-separated names, from one option or several; None where there is none."""
    if any(not text.strip(", ") for text in values):
        raise click.BadParameter("it names nothing", ctx, param)
    return [name.strip() for name in as_written(",".join(values)).split(",") if name.strip()] if values else None


def as_share(ctx: Any, param: Any, text: str) -> tuple[int, int]:
    """Return K and N of K/N: one of N equal shares, counted from 1."""
    first, _, second = text.partition("/")
    if not (first.isdecimal() and second.isdecimal() and 1 <= int(first) <= int(second)):
        raise click.BadParameter(f"'{text}' is no K/N with K from 1 to N, such as 3/16", ctx, param)
    return int(first), int(second)


def as_delimiter(ctx: Any, param: Any, text: str | None) -> str | None:
    """Return the character that separates cells; a tab may be written \\t."""
    character = "\t" if text == "\\t" else text
    if character is not None and (len(character) != 1 or character.isalnum() or character in "+-._\"'\r\n"):
        raise click.BadParameter(f"'{text}' cannot separate cells; it is one character, such as ';'", ctx, param)
    return character


def split_shapes(
    texts: tuple[str, ...], values: Container[str], symbolic: bool
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the text, name and lengths of each --shape. symbolic: whether lengths may be names. Raises GradcliError."""
    known: set[str] = set()
    for text in texts:
        name, sign, lengths = text.partition("=")
        name = as_written(name.strip() if symbolic else name)
        parts = [p.strip() for p in lengths.strip().removesuffix(",").split(",")] if lengths.strip() else []
        if symbolic:
            right = all(p.isidentifier() or (p.isdecimal() and int(p)) for p in parts)
        else:
            right = all(p.isdecimal() and p.isascii() for p in parts)
        if not sign or not name or not right:
            example = "--shape A=m,n --shape x=n" if symbolic else "--shape x=3,4"
            raise GradcliError(f"--shape {text}: write NAME=LENGTHS", hint=f"for example {example}")
        if name in known:
            raise GradcliError(f"--shape: '{name}' is given twice")
        if name in values:
            raise GradcliError(f"'{name}' is given a value and a shape", hint="give one of them")
        known.add(name)
        yield text, name, parts


def shapes_of(texts: tuple[str, ...], limit: int, values: Container[str]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of --shape x=3,4 (x= for a single number) by name. Raises GradcliError, also for values."""
    shapes: dict[str, tuple[int, ...]] = {}
    for text, name, parts in split_shapes(texts, values, symbolic=False):
        if len(parts) > MOST_AXES:
            raise GradcliError(f"--shape {name}: {len(parts)} axes are too many; NumPy has {MOST_AXES}", kind="limit")
        shapes[name] = tuple(map(int, parts))
        if math.prod(shapes[name]) > limit:
            raise GradcliError(
                f"--shape {text}: it would have {math.prod(shapes[name])} elements; the limit is {limit}",
                hint="raise it with --max-elements if there is memory for it",
                kind="limit",
            )
    return shapes


def dimensions_of(texts: tuple[str, ...], values: Mapping[str, Any]) -> dict[str, tuple[int | str, ...]]:
    """Return the shapes of --shape A=m,n by name: lengths are numbers, or names for any. Values have shapes as well.

    Raises GradcliError.
    """
    shapes: dict[str, tuple[int | str, ...]] = {}
    for text, name, parts in split_shapes(texts, values, symbolic=True):
        if len(parts) > 2:
            message = f"--shape {text}: --matrix has numbers, vectors and matrices"
            raise GradcliError(message, hint="give at most two lengths", kind="shape")
        shapes[name] = tuple(int(p) if p.isdecimal() else as_written(p) for p in parts)
    given = {name: tuple(value.shape) for name, value in values.items()}
    if deep := [name for name, shape in given.items() if len(shape) > 2]:
        raise GradcliError(f"'{deep[0]}' has {len(given[deep[0]])} axes; --matrix has at most two", kind="shape")
    return shapes | given


def option(
    usage: str, help: str, *, name: str | None = None, complete: str | None = None, choices: str = "", **more: Any
) -> Callable:
    """Return an option of click.

    usage: as `--help` has it, "-o --output FILE"; without a metavar, choices or a type it is a flag. name: the
    parameter's, where the flags do not say it. complete: the function of complete.py that says what a shell may offer.
    """
    words = usage.split()
    flags = [word for word in words if word.startswith("-")]
    if len(flags) < len(words):
        more["metavar"] = words[-1]
    elif choices:
        more["type"] = click.Choice(choices.split())
    elif not more.keys() & {"type", "flag_value"}:
        more["is_flag"] = True
    if complete is not None:
        more["shell_complete"] = import_completion(complete)
    return click.option(*flags, *([name] if name else []), help=help, **more)


names_option = partial(option, multiple=True, callback=as_names)
inputs_option = partial(names_option, complete="inputs")
value_option = partial(option, multiple=True, complete="complete_input")
file_option = partial(option, complete="files")
claim_option = partial(option, multiple=True, callback=one_or_all, complete="complete_function")


OPTIONS: dict[str, Callable] = {
    "expression": option(
        "-e EXPR", "An inline expression, whatever it looks like.", name="expression", multiple=True, callback=once
    ),
    "wrt": inputs_option("--wrt NAMES", "Differentiate with respect to these inputs only: x,y."),
    "out": option("--out NAME", "The name whose value is the output.", callback=as_name, complete="names"),
    "gradient": option("-g --gradient VALUE", "The gradient vector for an output that is no scalar.", complete="value"),
    "tangent": value_option(
        "--tangent -t NAME=VALUE", "The direction, input by input; inputs left out stay fixed. Repeatable."
    ),
    "grad": claim_option(
        "--grad NAME|FORMULA",
        "The gradient by hand: for FILE.py:f a function g(*arguments) of the same file; for an expression a formula, "
        "x=FORMULA of several inputs (repeatable); of a C function: its declaration.",
    ),
    "vjp": claim_option(
        "--vjp NAME|FORMULA",
        "The backward pass by hand: b(cotangent, *arguments) in the same file, or a formula with v for the cotangent, "
        "x=FORMULA of several inputs (repeatable); of a C function: its declaration.",
    ),
    "jvp": claim_option(
        "--jvp NAME|FORMULA",
        "The forward derivative by hand: j(tangents, *arguments) in the same file, or a formula with v for the tangent "
        "(v_x for that of x); alone or with --vjp; of a C function: its declaration.",
    ),
    "hess": value_option(
        "--hess x,y=FORMULA",
        "Of an expression: a formula for the second derivatives by x and y, x=FORMULA by x twice. Repeatable.",
    ),
    **{
        f"library_{name}": option(f"--{name} DECLARATION", f"Of a C function, {what} in its library.", name=name)
        for name, what in (("grad", "the gradient"), ("vjp", "the backward pass"), ("jvp", "the forward derivative"))
    },
    "value_and_grad": option(
        "--value-and-grad", "The function returns (value, gradient), as for scipy.optimize.minimize(jac=True)."
    ),
    "elementwise": option(
        "--elementwise",
        "The function works element by element; --grad returns the derivative of each, in the output's shape.",
    ),
    "shape": value_option(
        "--shape NAME=3,4",
        "Draw this input at random, with this shape; of a C function's output: its shape. Repeatable.",
        name="shapes",
    ),
    "symbol_shape": value_option(
        "--shape NAME=3,4",
        "Make this input an array of symbols, with this shape; with --matrix lengths may be names: A=m,n. Repeatable.",
        name="shapes",
    ),
    "samples": option(
        "--samples K",
        "How many random points to check, a million at most (1; of formulas 20, of --hess 5).",
        type=Count(1_000_000),
    ),
    "order": option("--order N", "2: check second derivatives (gradgradcheck).", type=Count(2)),
    "fast": option("--fast", "Deprecated, without effect: every check probes random directions first."),
    "no_as_called": option("--no-as-called", "Do not call the rule in the other ways that programs call it."),
    "arg": option(
        "--arg NAME=JSON",
        "Hold an argument of FILE.py:NAME constant: a number, a string, a list or an object. Repeatable.",
        name="arguments",
        multiple=True,
    ),
    "calls": option("--calls N", "Call the function N times at most; say what that bought.", type=Count(1_000_000_000)),
    "taylor": option("--taylor", "Judge by the Taylor remainder, and show its rates; with -o FILE.svg as a plot."),
    "rtol": option("--rtol X", "Fixed relative tolerance, as in PyTorch.", callback=as_finite),
    "atol": option("--atol X", "Fixed absolute tolerance, as in PyTorch.", callback=as_finite),
    "eps": option("--eps X", "Fixed step of the differences, as in PyTorch.", callback=as_positive),
    "keyword": option(
        "-k PATTERN", "Only the check of this name; if there is none, those with it in their name.", name="keyword"
    ),
    "show": option(
        "--show",
        "all: every element, claimed and numeric, also of what is right (worst).",
        choices="worst all",
        default="worst",
    ),
    "list": option("--list", "List the checks and stop."),
    "stop": option("-x", "Stop at the first fail.", name="stop"),
    "jobs": option("-j --jobs N", "Processes to run checks in (1).", type=Count(1000), default=1),
    "junit": file_option("--junit FILE", "Also write a JUnit report."),
    "allow_inconclusive": option("--allow-inconclusive", "Exit with 0 when no check fails but some are inconclusive."),
    "exit_zero": option("--exit-zero", "Exit with 0 whatever the verdicts are."),
    "verify": file_option("--verify FILE", "Compare with this lock; exit 1 where a number is beyond both errors."),
    "search": option(
        "--search N",
        "Also look among N points that people forget for one where the derivative is wrong, and shrink it.",
        type=Count(1_000_000, least=0),
    ),
    "save_points": file_option(
        "--save-points FILE", "Try the points of FILE first, and add to it what --search finds."
    ),
    "bisect": option("--bisect", "Exit codes for git bisect run: 125, skip, where no verdict can be had."),
    "config": option("--config JSON", "The config object that an UM-Bridge model is called with."),
    "mode": option(
        "--mode", "Reverse or forward mode; auto takes the smaller side.", choices="auto rev fwd", default="auto"
    ),
    "chunk_size": option("--chunk-size N", "Rows (columns) computed at once; all that fit.", type=Count(MOST_COUNTED)),
    "sparse": option("--sparse", "Detect the sparsity and compute only as many products as it needs."),
    "hook": option(
        "--hook NAME=ACTION",
        "Run ACTION on NAME's gradient: print, an expression in g, or FILE.py:function. For modules: net.f1=, "
        "net.f1.forward=, net.f1.forward_pre=. Repeatable.",
        name="hooks",
        multiple=True,
        complete="hooks",
    ),
    "retain": option(
        "--retain NAME",
        "Also report the gradient of this intermediate result.",
        multiple=True,
        callback=as_name,
        complete="names",
    ),
    "retain_all": option("--retain-all", "Report the gradients of all named results."),
    "columns": file_option(
        "--columns FILE",
        "Every column of this table with a heading that the program has as an input is its value; - is standard input.",
    ),
    "strict": option("--strict", "nan or infinity in the result is an error, with its place; exit 1."),
    "value": option("--value", "In tab-separated lines (and CSV) the value comes first.", name="with_value"),
    "dtype": option("--dtype", "The type of the inputs (float64).", choices="float32 float64 complex128"),
    "check_dtype": option(
        "--dtype",
        "The type of the inputs (float64); the short ones with --reference.",
        choices=" ".join(["float32", "float64", "complex128", *SHORT]),
    ),
    "reference": option(
        "--reference NAME",
        "Compare the derivative of FILE.py:NAME with that of another function of the file (or FILE.py:NAME), not with "
        "values: for surrogate gradients, and with --dtype for kernels in few digits.",
        complete="complete_function",
    ),
    "seed": option("--seed N", "Seed of rand and randn (0).", type=Count(MOST_COUNTED, least=0), default=0),
    "max_elements": option(
        "--max-elements N",
        "The largest value a program may make (1e8 elements), with 2 GiB for all.",
        type=Count(MOST_COUNTED),
        default=DEFAULT_MAX_ELEMENTS,
    ),
    "safe": option("--safe", "Never execute Python, processes or libraries: refuse them."),
    "torch": option("--torch", "In Python files, let `import torch` mean gradcli's own engine."),
    "python": option(
        "--python PATH",
        "The Python, or its environment, that runs Python targets (VIRTUAL_ENV, .venv, CONDA_PREFIX, gradcli's own).",
        complete="files",
    ),
    "engine": option(
        "--engine",
        "The engine that differentiates FILE.py:NAME (the framework that its code leads to); object: the file's own.",
        choices=" ".join(ENGINES),
    ),
    "over": value_option("--over NAME=FROM:TO", "An input and its range, as the word x=-3:3 says it, too. Repeatable."),
    "points": option("--points N", "Points along each input (200; 60 for a map).", type=Count(1000, least=2)),
    "range_points": option("--points N", "Points (49).", type=Count(1000, least=2), default=49),
    "plot": option("--plot", "Draw heat maps; with -o FILE.svg or .png, a picture."),
    "values": option("--values", "Show the value and the gradient of every result.", name="with_values"),
    "direction": option("--direction", "Draw upwards (BT) or from left to right (LR) (BT).", choices="BT LR"),
    "all": option("--all", "Draw every node, however many there are."),
    "digits": option("--digits N", "Compute in high precision, with N digits.", type=Count(10_000)),
    "value_digits": option("--digits N", "Evaluate with N digits, at --at or the values given.", type=Count(10_000)),
    "symbolic": option("--symbolic", "Compare with sympy's formulas, and show them; exit 1 if they disagree."),
    "check": option("--check", "Compare with independent answers: numeric, forward, 50 digits, symbolic."),
    "max_symbols": option("--max-symbols N", "The most input elements (64).", type=Count(1_000_000), default=64),
    "timeout": option(
        "--timeout S",
        "Seconds that all may take, in gradcheck each check or answer from elsewhere (formulas and digits: 20; a "
        "program of the language: 30 of CPU; an answer: 60).",
        callback=as_positive,
    ),
    "simplify": option("--simplify", "Simplify the formulas, within --timeout."),
    "high_order": option("--order N", "Order of the derivatives (1).", type=Count(10), default=1),
    "matrix": option("--matrix", "Derivatives in matrix form, for arrays of any size: --shape A=m,n --shape x=n."),
    "symmetric": inputs_option("--symmetric NAMES", "With --matrix: these inputs are symmetric."),
    "spd": inputs_option("--spd NAMES", "With --matrix: these inputs are symmetric and positive definite."),
    "at": value_option("--at NAME=VALUE", "Evaluate the formulas there. Repeatable."),
    "steps": option("--steps", "Show the chain rule, node by node."),
    "only_pass": option(
        "--pass N|last", "Of several runs of backward only this one, counted from 1.", name="only", callback=as_pass
    ),
    "step": option("--step", "Wait for a key after each step: q ends, a shows all the rest."),
    "detect_anomaly": option("--detect-anomaly", "Name the first operation that makes a nan."),
    "outs": names_option(
        "--out NAMES",
        "The name whose value is the output; of several, a,b, each gets columns of its own: a, d_a_x.",
        name="outs",
        complete="names",
    ),
    "diag": option("--diag", "Also the second derivatives by the same input: d2_NAME."),
    "keep": names_option("--keep COLUMNS", "Also hand on these columns: id,day."),
    "no_keep": option("--no-keep", "Leave the inputs out of the result."),
    "delimiter": option(
        "--delimiter CHARACTER",
        "What separates the cells of POINTS, where that is text: ';'. Decimal commas are read, unless it is a comma.",
        callback=as_delimiter,
    ),
    "sweep_format": option(
        "-f --format",
        "Write the table as csv or tsv, or print how it went, as json (by the ending of FILE; csv).",
        choices="csv tsv json",
    ),
    "shard": option("--shard K/N", "Only the K-th of N equal shares of the rows.", default="1/1", callback=as_share),
    "sweep_jobs": option("-j --jobs N", "Threads or processes that share the rows (1).", type=Count(1000)),
    "dask": option(
        "--dask ADDRESS",
        "Run on the Dask cluster whose scheduler is there (tcp://HOST:PORT, or its FILE.json), or on one made "
        "for it: local. The workers need gradcli, and must see the files.",
    ),
    "restart": option("--restart", "Begin anew, whatever is there of the output."),
    "sweep_output": file_option(
        "-o --output FILE",
        "The table to write: .csv, .tsv or .parquet; - is standard output (-).",
        name="table",
        default="-",
    ),
    "json": option("--json", "The same as -f json.", name="format", flag_value="json"),
    "output": file_option("-o --output FILE", "Write to FILE instead; - is standard output."),
    "precision": option("--precision N", "Significant digits to print.", type=Count(50)),
    "color": option("--color", "When to use colour (auto).", choices="auto always never", default="auto"),
    "quiet": option("-q --quiet", "No notes and warnings."),
    "verbose": option("-v --verbose", "More notes."),
}
