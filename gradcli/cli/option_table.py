"""Options that commands share, each declared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..lang.settings import DEFAULT_MAX_ELEMENTS
from ..program.frameworks import ENGINES
from .accept import MOST_COUNTED, Count, Finite, PassNumber, as_name, as_names, as_share, import_completion, once

FLOAT_TYPES = ("float32", "float64", "complex128")


def shape_option(purpose: str) -> Callable:
    """Return the option --shape of a command that uses shapes for this purpose."""
    return click.option(
        "--shape",
        "shapes",
        multiple=True,
        metavar="NAME=3,4",
        shell_complete=import_completion("complete_input"),
        help=f"{purpose} Repeatable.",
    )


OPTIONS: dict[str, Any] = {
    "expression": click.option(
        "-e",
        "expression",
        metavar="EXPR",
        multiple=True,
        callback=once,
        help="An inline expression, whatever it looks like.",
    ),
    "wrt": click.option(
        "--wrt",
        metavar="NAMES",
        multiple=True,
        callback=as_names,
        shell_complete=import_completion("inputs"),
        help="Differentiate with respect to these inputs only: x,y.",
    ),
    "out": click.option(
        "--out",
        metavar="NAME",
        callback=as_name,
        shell_complete=import_completion("names"),
        help="The name whose value is the output.",
    ),
    "gradient": click.option(
        "-g",
        "--gradient",
        metavar="VALUE",
        shell_complete=import_completion("value"),
        help="The gradient vector for an output that is no scalar.",
    ),
    "tangent": click.option(
        "--tangent",
        "-t",
        multiple=True,
        metavar="NAME=VALUE",
        shell_complete=import_completion("complete_input"),
        help="The direction, input by input; inputs left out stay fixed. Repeatable.",
    ),
    "grad": click.option(
        "--grad",
        metavar="NAME",
        shell_complete=import_completion("complete_function"),
        help="The gradient by hand, in the same file: g(*arguments); of a C function: its declaration.",
    ),
    "vjp": click.option(
        "--vjp",
        metavar="NAME",
        shell_complete=import_completion("complete_function"),
        help="The backward pass by hand, in the same file: b(cotangent, *arguments); of a C function: its "
        "declaration.",
    ),
    "jvp": click.option(
        "--jvp",
        metavar="NAME",
        shell_complete=import_completion("complete_function"),
        help="The forward derivative by hand, in the same file: j(tangents, *arguments); alone or with --vjp; of a C "
        "function: its declaration.",
    ),
    **{
        f"library_{name}": click.option(
            f"--{name}", f"library_{name}", metavar="DECLARATION", help=f"Of a C function, {what} in its library."
        )
        for name, what in (("grad", "the gradient"), ("vjp", "the backward pass"), ("jvp", "the forward derivative"))
    },
    "value_and_grad": click.option(
        "--value-and-grad",
        is_flag=True,
        help="The function returns (value, gradient), as for scipy.optimize.minimize(jac=True).",
    ),
    "shape": shape_option("Draw this input at random, with this shape; of a C function's output: its shape."),
    "symbol_shape": shape_option("Make this input an array of symbols, with this shape."),
    "samples": click.option(
        "--samples",
        type=Count(1_000_000),
        metavar="K",
        help="How many random points to check, a million at most (1).",
    ),
    "order": click.option("--order", type=Count(2), metavar="N", help="2: check second derivatives (gradgradcheck)."),
    "fast": click.option("--fast", is_flag=True, help="Random directions first; elements only on suspicion."),
    "arg": click.option(
        "--arg",
        "arguments",
        multiple=True,
        metavar="NAME=JSON",
        help="An argument of FILE.py:NAME that is no array: a string, an integer, a list or an object. Repeatable.",
    ),
    "calls": click.option(
        "--calls",
        type=Count(1_000_000_000),
        metavar="N",
        help="Call the function N times at most; say what that bought.",
    ),
    "taylor": click.option(
        "--taylor",
        is_flag=True,
        help="Judge by the Taylor remainder, and show its rates; with -o FILE.svg as a plot.",
    ),
    "rtol": click.option("--rtol", type=Finite(), metavar="X", help="Fixed relative tolerance, as in PyTorch."),
    "atol": click.option("--atol", type=Finite(), metavar="X", help="Fixed absolute tolerance, as in PyTorch."),
    "eps": click.option(
        "--eps", type=Finite(positive=True), metavar="X", help="Fixed step of the differences, as in PyTorch."
    ),
    "keyword": click.option("-k", "keyword", metavar="PATTERN", help="Only checks with this in their name."),
    "show": click.option(
        "--show",
        type=click.Choice(("worst", "all")),
        default="worst",
        help="all: every element, claimed and numeric, also of what is right (worst).",
    ),
    "list": click.option("--list", "list", is_flag=True, help="List the checks and stop."),
    "stop": click.option("-x", "stop", is_flag=True, help="Stop at the first fail."),
    "jobs": click.option(
        "-j",
        "--jobs",
        type=Count(1000),
        default=1,
        metavar="N",
        help="Processes to run checks in (1).",
    ),
    "junit": click.option(
        "--junit", metavar="FILE", shell_complete=import_completion("files"), help="Also write a JUnit report."
    ),
    "allow_inconclusive": click.option(
        "--allow-inconclusive", is_flag=True, help="Exit with 0 when no check fails but some are inconclusive."
    ),
    "verify": click.option(
        "--verify",
        metavar="FILE",
        shell_complete=import_completion("files"),
        help="Compare with this lock; exit 1 where a number is beyond both errors.",
    ),
    "search": click.option(
        "--search",
        type=Count(1_000_000, least=0),
        metavar="N",
        help="Also look among N points that people forget for one where the derivative is wrong, and shrink it.",
    ),
    "save_points": click.option(
        "--save-points",
        metavar="FILE",
        shell_complete=import_completion("files"),
        help="Try the points of FILE first, and add to it what --search finds.",
    ),
    "bisect": click.option(
        "--bisect", is_flag=True, help="Exit codes for git bisect run: 125, skip, where no verdict can be had."
    ),
    "config": click.option(
        "--config", metavar="JSON", help="The config object that an UM-Bridge model is called with."
    ),
    "mode": click.option(
        "--mode",
        type=click.Choice(("auto", "rev", "fwd")),
        default="auto",
        help="Reverse or forward mode; auto takes the smaller side.",
    ),
    "chunk_size": click.option(
        "--chunk-size", type=Count(MOST_COUNTED), metavar="N", help="Rows (columns) computed at once; all that fit."
    ),
    "sparse": click.option(
        "--sparse", is_flag=True, help="Detect the sparsity and compute only as many products as it needs."
    ),
    "hook": click.option(
        "--hook",
        "hooks",
        multiple=True,
        metavar="NAME=ACTION",
        shell_complete=import_completion("hooks"),
        help="Run ACTION on NAME's gradient: print, an expression in g, or FILE.py:function. For modules: net.f1=, "
        "net.f1.forward=, net.f1.forward_pre=. Repeatable.",
    ),
    "retain": click.option(
        "--retain",
        multiple=True,
        metavar="NAME",
        callback=as_name,
        shell_complete=import_completion("names"),
        help="Also report the gradient of this intermediate result.",
    ),
    "retain_all": click.option("--retain-all", is_flag=True, help="Report the gradients of all named results."),
    "columns": click.option(
        "--columns",
        metavar="FILE",
        shell_complete=import_completion("files"),
        help="Every column of this table with a heading that the program has as an input is its value; - is standard "
        "input.",
    ),
    "strict": click.option(
        "--strict", is_flag=True, help="nan or infinity in the result is an error, with its place; exit 1."
    ),
    "value": click.option(
        "--value", "with_value", is_flag=True, help="In tab-separated lines (and CSV) the value comes first."
    ),
    "dtype": click.option("--dtype", type=click.Choice(FLOAT_TYPES), help="The type of the inputs (float64)."),
    "seed": click.option(
        "--seed", type=click.IntRange(0), default=0, metavar="N", help="Seed of rand and randn (0)."
    ),
    "max_elements": click.option(
        "--max-elements",
        type=Count(MOST_COUNTED),
        default=DEFAULT_MAX_ELEMENTS,
        metavar="N",
        help="The largest value a program may make (1e8 elements), with 2 GiB for all.",
    ),
    "safe": click.option("--safe", is_flag=True, help="Never execute Python, processes or libraries: refuse them."),
    "torch": click.option(
        "--torch", is_flag=True, help="In Python files, let `import torch` mean gradcli's own engine."
    ),
    "engine": click.option(
        "--engine",
        type=click.Choice(ENGINES),
        help="The engine that differentiates FILE.py:NAME (the framework that its code leads to).",
    ),
    "over": click.option(
        "--over",
        multiple=True,
        metavar="NAME=FROM:TO",
        shell_complete=import_completion("complete_input"),
        help="The input along which to plot, and its range: x=-3:3. Twice for a map.",
    ),
    "points": click.option(
        "--points", type=Count(1000, least=2), metavar="N", help="Points along each input (200; 60 for a map)."
    ),
    "range_points": click.option("--points", type=Count(1000, least=2), metavar="N", help="Points (49)."),
    "repair": click.option("--repair", is_flag=True, help="Try other ways to write the formula."),
    "plot": click.option("--plot", is_flag=True, help="Draw heat maps; with -o FILE.svg, .png or .pdf, a picture."),
    "save": click.option(
        "--save",
        metavar="FILE",
        shell_complete=import_completion("files"),
        help="Also save the table, as a terminal shows it, as FILE.svg or FILE.html.",
    ),
    "values": click.option("--values", is_flag=True, help="Show the value and the gradient of every result."),
    "all": click.option("--all", "all", is_flag=True, help="Draw every node, however many there are."),
    "digits": click.option(
        "--digits", type=Count(10_000), metavar="N", help="Compute in high precision, with N digits."
    ),
    "value_digits": click.option(
        "--digits",
        type=Count(10_000),
        metavar="N",
        help="Evaluate with N digits, at --at or the values given.",
    ),
    "symbolic": click.option(
        "--symbolic", is_flag=True, help="Compare with sympy's formulas, and show them; exit 1 if they disagree."
    ),
    "check": click.option(
        "--check", is_flag=True, help="Compare with independent answers: numeric, forward, 50 digits, symbolic."
    ),
    "max_symbols": click.option(
        "--max-symbols", type=Count(1_000_000), default=64, metavar="N", help="The most input elements (64)."
    ),
    "timeout": click.option(
        "--timeout",
        type=Finite(positive=True),
        metavar="S",
        help="Seconds that all may take, in gradcheck each check or answer from elsewhere (formulas and digits: 20; "
        "a program of the language: 30 of CPU; an answer: 60).",
    ),
    "simplify": click.option("--simplify", is_flag=True, help="Simplify the formulas, within --timeout."),
    "high_order": click.option(
        "--order", type=Count(10), default=1, metavar="N", help="Order of the derivatives (1)."
    ),
    "at": click.option(
        "--at",
        multiple=True,
        metavar="NAME=VALUE",
        shell_complete=import_completion("complete_input"),
        help="Evaluate the formulas there. Repeatable.",
    ),
    "steps": click.option("--steps", is_flag=True, help="Show the chain rule, node by node."),
    "only_pass": click.option(
        "--pass",
        "only",
        type=PassNumber(),
        metavar="N|last",
        help="Of several runs of backward only this one, counted from 1.",
    ),
    "step": click.option(
        "--step", is_flag=True, help="Wait for a key after each step: q ends, a shows all the rest."
    ),
    "detect_anomaly": click.option(
        "--detect-anomaly", is_flag=True, help="Name the first operation that makes a nan."
    ),
    "outs": click.option(
        "--out",
        "outs",
        metavar="NAMES",
        multiple=True,
        callback=as_names,
        shell_complete=import_completion("names"),
        help="The name whose value is the output; of several, a,b, each gets columns of its own: a, d_a_x.",
    ),
    "diag": click.option("--diag", is_flag=True, help="Also the second derivatives by the same input: d2_NAME."),
    "keep": click.option(
        "--keep", metavar="COLUMNS", multiple=True, callback=as_names, help="Also hand on these columns: id,x."
    ),
    "shard": click.option(
        "--shard",
        metavar="K/N",
        default="1/1",
        callback=as_share,
        help="Only the K-th of N equal shares of the rows.",
    ),
    "sweep_jobs": click.option(
        "-j", "--jobs", type=Count(1000), metavar="N", help="Threads or processes that share the rows (1)."
    ),
    "dask": click.option(
        "--dask",
        metavar="ADDRESS",
        help="Run on the Dask cluster whose scheduler is there (tcp://HOST:PORT, or its FILE.json), or on one made "
        "for it: local. The workers need gradcli, and must see the files.",
    ),
    "compile": click.option(
        "--compile", is_flag=True, help="Translate the program to C and build it with the system's compiler (cc)."
    ),
    "restart": click.option("--restart", is_flag=True, help="Begin anew, whatever is there of the output."),
    "sweep_output": click.option(
        "-o",
        "--output",
        "table",
        metavar="FILE",
        default="-",
        shell_complete=import_completion("files"),
        help="The table to write: .csv, .tsv or .parquet; - is CSV on standard output (-).",
    ),
    "json": click.option("--json", "format", flag_value="json", help="The same as -f json."),
    "output": click.option(
        "-o",
        "--output",
        metavar="FILE",
        shell_complete=import_completion("files"),
        help="Write to FILE instead; - is standard output.",
    ),
    "precision": click.option("--precision", type=Count(50), metavar="N", help="Significant digits to print."),
    "color": click.option(
        "--color", type=click.Choice(("auto", "always", "never")), default="auto", help="When to use colour (auto)."
    ),
    "quiet": click.option("-q", "--quiet", is_flag=True, help="No notes and warnings."),
    "verbose": click.option("-v", "--verbose", is_flag=True, help="More notes."),
}
