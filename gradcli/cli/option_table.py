"""Options that commands share, each declared once.

The default of an option that is a field of Request is declared there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from ..request import DEFAULT_MAX_ELEMENTS, ENGINES, EXCLUDES, LEAST_DRAWS, SHORT_TYPES
from .option_values import (
    MOST_COUNTED,
    Count,
    as_delimiter,
    as_finite,
    as_level,
    as_name,
    as_names,
    as_pass,
    as_positive,
    as_share,
    as_step,
    once,
    one_or_all,
    shapes_of,
)


def import_completion(what: str) -> Callable:
    """Return a completion function that calls the one of this name in complete.py, imported only when a shell asks."""

    def call(ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
        from .complete import offer_candidates

        return offer_candidates(what, ctx, param, incomplete)

    return call


class Option(click.Option):
    """An option that declares when it has an effect, so that other uses can be refused (`check_uses`).

    needs: options of which one must also be given. excludes: options that it cannot be combined with. targets, formats:
    the kinds of targets and the output formats for which it has an effect; empty means all.
    """

    def __init__(self, *words: Any, needs="", excludes="", targets="", formats="", **more: Any):
        super().__init__(*words, **more)
        self.needs, self.excludes = needs.split(), excludes.split()
        self.targets, self.formats = targets.split(), formats.split()


def option(
    usage: str, help: str, *, name: str | None = None, complete: str | None = None, choices: str = "", **more: Any
) -> Callable:
    """Return a click option.

    usage: as in `--help`, such as "-o --output FILE"; without a metavar, choices or type, it is a flag. name: the name
    of the parameter if it differs from the flag. complete: its function in complete.py. more: passed to `Option`.
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
    return click.option(*flags, *([name] if name else []), cls=Option, help=help, **more)


names_option = partial(option, multiple=True, callback=as_names)
inputs_option = partial(names_option, complete="inputs")
value_option = partial(option, multiple=True, complete="complete_input")
file_option = partial(option, complete="files")
claim_option = partial(option, multiple=True, callback=one_or_all, complete="complete_function")


VJP_FUNCTION = (
    "function b(v, *arguments) of FILE.py, where v is the incoming gradient. v may also be the last argument, as in "
    "b(x, v), if the others have the same names as in f."
)
JVP_FUNCTION = (
    "function j(tangents, *arguments) of FILE.py, where tangents is a tuple with one direction for each argument."
)


PYTHON = "script function checks ase"
LOCAL = "expression script function checks"
SHOWN = "table text latex json"
"""PYTHON: kinds of targets that run Python. LOCAL: those that gradcli runs itself. SHOWN: formats of formulas."""
INPUT_TYPE, INPUT_TYPES = "Type of the inputs [float64].", "float32 float64 complex128"

OPTIONS: dict[str, Callable] = {
    "expression": option(
        "-e EXPR", "Use EXPR as an expression, not as a file name.", name="expression", multiple=True, callback=once
    ),
    "wrt": inputs_option(
        "--wrt NAMES", "Differentiate with respect to these inputs [all]. NAMES is a list such as x,y."
    ),
    "out": option(
        "--out NAME", "Differentiate the variable or output called NAME.", callback=as_name, complete="complete_names"
    ),
    "gradient": option("-g --gradient VALUE", "Incoming gradient of a non-scalar output.", complete="complete_value"),
    "tangent": value_option("--tangent -t NAME=VALUE", "Direction for an input; other inputs stay fixed. Repeatable."),
    "grad": claim_option(
        "--grad NAME|FORMULA",
        "Gradient written by hand. For FILE.py:f, name a function of FILE.py that takes the same arguments as f. For "
        "an expression, give a formula. For several inputs, repeat the option with x=FORMULA for each input. For a C "
        "function, give the declaration of its gradient.",
    ),
    "vjp": claim_option(
        "--vjp NAME|FORMULA",
        f"Backward pass written by hand. It computes vector-Jacobian products. For FILE.py:f, name a {VJP_FUNCTION} "
        "For an expression, give a formula that contains v, or repeat the option with x=FORMULA for each input. For a "
        "C function, give the declaration of its backward pass.",
    ),
    "jvp": claim_option(
        "--jvp NAME|FORMULA",
        "Forward derivative written by hand. It computes Jacobian-vector products. For FILE.py:f, name a "
        f"{JVP_FUNCTION} For an expression, give a formula that contains the direction v; if there are several "
        "inputs, their directions are v_x, v_y and so on. For a C function, give the declaration of its forward "
        "derivative. You can combine --jvp with --vjp.",
    ),
    **{
        f"edited_{way}": claim_option(f"--{way} NAME", f"{what} written by hand. NAME is {function}", name=way)
        for way, what, function in (
            ("grad", "Gradient", "a function of FILE.py that takes the same arguments as f."),
            ("vjp", "Backward pass", f"a {VJP_FUNCTION}"),
            ("jvp", "Forward derivative", f"a {JVP_FUNCTION} You can combine --jvp with --vjp."),
        )
    },
    "hess": value_option(
        "--hess x,y=FORMULA",
        "Second derivative with respect to x and y. For the second derivative with respect to x alone, write "
        "x=FORMULA. Repeatable.",
        targets="expression script",
    ),
    **{
        f"library_{name}": option(f"--{name} DECLARATION", f"Declaration of {what} in C.", name=name, targets="library")
        for name, what in (("grad", "the gradient"), ("vjp", "the backward pass"), ("jvp", "the forward derivative"))
    },
    "value_and_grad": option(
        "--value-and-grad",
        "The function returns (value, gradient). SciPy expects this with jac=True.",
        targets="function",
    ),
    "numeric": option(
        "--numeric",
        "Differentiate numerically, from values alone. Each derivative is printed with its error. This works for "
        "anything that has values: functions that call SciPy or C, programs, servers. Exit with 4 if a derivative is "
        "not known.",
        excludes="symbolic check digits hooks retain retain_all detect_anomaly mode chunk_size sparse grad vjp jvp",
    ),
    "elementwise": option(
        "--elementwise",
        "--grad returns one derivative per output element. The gradient then has the shape of the output.",
        needs="grad value_and_grad",
    ),
    "on": value_option(
        "--on NAME=MANIFOLD",
        "Input NAME lies on a manifold. MANIFOLD is SO3, SE3, quaternion, unit, sphere, stiefel or spd. It can also be "
        "a retraction of your own, written as FILE.py:NAME. A suffix, as in SE3:left, names the convention of the "
        "claim. gradcli-manifolds(7) describes the conventions, and the derivative that gradcheck expects. If the "
        "output lies on a manifold, write out=MANIFOLD. Repeatable.",
        complete="complete_manifold",
        targets="function library umbridge",
        excludes=EXCLUDES["on"],
    ),
    "shape": value_option(
        "--shape NAME=3,4",
        "Give this input random values, in this shape. For a C function, NAME may also be its output. Repeatable.",
        name="shapes",
    ),
    "edited_shape": value_option(
        "--shape NAME=3,4", "Give this input random values, in this shape. Repeatable.", name="shapes"
    ),
    "output_shape": value_option(
        "--shape NAME=3,4",
        "Shape of an output array of a C function. Repeatable.",
        name="shapes",
        callback=lambda ctx, param, texts: shapes_of(texts, DEFAULT_MAX_ELEMENTS, ()),
        targets="library",
    ),
    "symbol_shape": value_option(
        "--shape NAME=3,4",
        "Make this input an array of symbols. With --matrix, lengths may be names: A=m,n. Repeatable.",
        name="shapes",
    ),
    "samples": option(
        "--samples K",
        "Check at K random points [1, 5 or 20]. The default is 20 for a claimed formula, 5 for --hess, and "
        "otherwise 1.",
        type=Count(1_000_000),
    ),
    "edited_samples": option("--samples K", "Check at K random points [1].", type=Count(1_000_000)),
    "order": option(
        "--order N",
        "Check derivatives of order N [1]. Order 2 corresponds to PyTorch's gradgradcheck. The option cannot be "
        "combined with --grad, --vjp or --jvp. For second derivatives that are formulas, there is --hess.",
        type=Count(2),
    ),
    "no_as_called": option(
        "--no-as-called",
        "Call the derivative in one way only. By default, gradcheck also calls it as programs may call it, for example "
        "with an incoming gradient in float32. gradcli-verdict(7) lists these tests for each framework.",
    ),
    "arg": option(
        "--arg NAME=JSON",
        "Set an argument of FILE.py:NAME to a constant. JSON is a number, a string, a list or an object. Repeatable.",
        name="arguments",
        multiple=True,
        targets="function",
    ),
    "calls": option(
        "--calls N",
        "Call the checked function at most N times. The limit applies to each check.",
        type=Count(1_000_000_000),
    ),
    "taylor": option("--taylor", "Also print Taylor remainders and their rate. -o FILE.svg plots them."),
    "fix": option("--fix", "Look for an edit that repairs a wrong derivative. See gradcli-fix(1)."),
    "write": option("--write", "Change the files. Comments and formatting stay."),
    "candidates": option("--candidates N", "Try at most N edits for each derivative [5000].", type=Count(1_000_000)),
    "seconds": option("--seconds S", "Stop each search after S seconds [10].", callback=as_positive),
    "rtol": option("--rtol X", "Use a fixed relative tolerance, as PyTorch does.", callback=as_finite),
    "atol": option("--atol X", "Use a fixed absolute tolerance, as PyTorch does.", callback=as_finite),
    "eps": option("--eps X", "Use finite differences with the step X.", callback=as_step),
    "nondet_tol": option(
        "--nondet-tol X",
        "Allow repeated calls to differ by up to X. The limit applies to the function and to the derivative.",
        callback=as_finite,
    ),
    "check_strict": option(
        "--strict", "Do not allow small differences. Without this option, a relative difference below 1e-6 passes."
    ),
    "keyword": option(
        "-k PATTERN",
        "Run only checks whose name contains PATTERN. PATTERN may also be part of the file's name. If PATTERN "
        "is exactly the name of a check, only this check runs.",
        name="keyword",
    ),
    "show": option("--show", "Elements to report [worst].", choices="worst all", formats="table tsv csv json html"),
    "list": option("--list", "List the checks without running them."),
    "stop": option("-x", "Stop after the first failure or error.", name="stop"),
    "jobs": option("-j --jobs N", "Run checks in N processes [1].", type=Count(1000)),
    "junit": file_option("--junit FILE", "Also write a JUnit report to FILE.", excludes="list"),
    "allow_inconclusive": option("--allow-inconclusive", "Exit with 0, not 4, if a check is inconclusive."),
    "exit_zero": option("--exit-zero", "Exit with 0, whatever the verdicts are."),
    "verify": file_option(
        "--verify FILE", "Compare with the lock FILE. Exit with 1 if a number changed by more than its errors."
    ),
    "search": option(
        "--search N",
        "Also check at N edge-case points. Such a point has zeros or equal numbers, for example. The simplest "
        "failing point is reported.",
        type=Count(1_000_000, least=0),
    ),
    "save_points": file_option(
        "--save-points FILE", "Check the points in FILE first. Failing points that --search finds are added to FILE."
    ),
    "bisect": option(
        "--bisect",
        "Exit with the codes that git bisect run expects. The code is 125 (skip) if no check failed, but one is "
        "inconclusive or an error. It is also 125 if a check that you named does not exist in this version of "
        "the file.",
        excludes="exit_zero",
    ),
    "config": option(
        "--config JSON",
        "Configuration for a UM-Bridge model. JSON is an object, such as '{\"level\": 2}'.",
        targets="umbridge",
    ),
    "stress": option("--stress", "Also check the stress of an ASE calculator.", targets="ase"),
    "mode": option("--mode", "Reverse or forward mode; auto takes the cheaper one [auto].", choices="auto rev fwd"),
    "chunk_size": option("--chunk-size N", "Compute N rows or columns together [automatic].", type=Count(MOST_COUNTED)),
    "sparse": option(
        "--sparse",
        "Detect and use the sparsity of the Jacobian. gradcli then computes only the vector products that the sparsity "
        "pattern requires.",
    ),
    "hook": option(
        "--hook NAME=ACTION",
        "Run ACTION on the gradient of NAME. ACTION is print, a formula in g, or FILE.py:function. For the "
        "module net.f1, NAME is net.f1 (its gradients), net.f1.forward (its output) or net.f1.forward_pre (its "
        "inputs). Repeatable.",
        name="hooks",
        multiple=True,
        complete="hooks",
    ),
    "retain": option(
        "--retain NAME",
        "Also report this intermediate result's gradient. Repeatable.",
        multiple=True,
        callback=as_name,
        complete="complete_names",
    ),
    "retain_all": option("--retain-all", "Report the gradients of all named results."),
    "columns": file_option(
        "--columns FILE",
        "Read inputs from the columns of the table FILE. Columns are matched by name. - is standard input.",
    ),
    "strict": option("--strict", "Exit with 1 if the result contains nan or inf."),
    "value": option(
        "--value",
        "Also print the value of the output. Formats other than tab-separated lines and CSV always contain it.",
        name="with_value",
        formats="table tsv json latex npz csv",
    ),
    "dtype": option("--dtype", INPUT_TYPE, choices=INPUT_TYPES, targets=LOCAL),
    "script_dtype": option(
        "--dtype", "Type of gradcli's tensors [float64]. It is ignored if --torch is given.", choices=INPUT_TYPES
    ),
    "check_dtype": option(
        "--dtype",
        f"{INPUT_TYPE} The types {' and '.join(SHORT_TYPES)} require --reference.",
        choices=" ".join([INPUT_TYPES, *SHORT_TYPES]),
        targets=LOCAL,
    ),
    "reference": option(
        "--reference NAME",
        "Compare with the derivative of function NAME. Without this option, claims are compared with numeric "
        "derivatives. The option is for surrogate gradients and, with --dtype, for kernels in low precision. "
        "Write FILE.py:NAME for a function in a different file.",
        complete="complete_function",
        targets="function",
        excludes="order calls taylor symbolic digits rtol atol eps nondet_tol strict show search save_points",
    ),
    "stochastic": option(
        "--stochastic NAME",
        "Check the mean of a Monte-Carlo estimator. NAME(*inputs, rng, n) returns n samples of the gradient; "
        "NAME(*inputs, rng) and NAME(*inputs) return one. TARGET(*inputs) is the objective: the mean of the "
        "estimator should be its gradient. If you can only draw samples of the objective, write TARGET(*inputs, rng, "
        "n), which returns n of them.",
        complete="complete_function",
        targets="function",
        excludes=f"{EXCLUDES['stochastic']} save_points",
    ),
    "level": option(
        "--level X",
        "Probability that a right estimator fails [1e-6]. It holds for the whole check, not for each element.",
        callback=as_level,
        targets="function checks",
    ),
    "draws": option(
        "--draws N",
        f"Draw at most N samples [{1 << 23}]. The default is {1 << 19} if a call returns only one sample.",
        type=Count(MOST_COUNTED, least=LEAST_DRAWS),
        targets="function checks",
    ),
    "device": option(
        "--device", "Device on which PyTorch and JAX compute [cpu].", choices="cpu cuda", targets="function checks"
    ),
    "seed": option("--seed N", "Seed for random numbers [0].", type=Count(MOST_COUNTED, least=0)),
    "script_seed": option("--seed N", "Seed of gradcli's engine, not of PyTorch.", type=Count(MOST_COUNTED, least=0)),
    "max_elements": option(
        "--max-elements N", "Maximum number of elements of an array [1e8].", type=Count(MOST_COUNTED)
    ),
    "safe": option("--safe", "Refuse to run Python, programs and C libraries."),
    "torch": option("--torch", "Let `import torch` load gradcli's engine.", targets=PYTHON),
    "python": option(
        "--python PATH",
        "Interpreter for Python files [your project's]. PATH is an interpreter or the folder of its "
        "environment. Without a project, gradcli's own Python is used.",
        complete="files",
        targets=PYTHON,
    ),
    "command_python": file_option(
        "--python PATH",
        "Environment for COMMAND [your project's]. COMMAND runs as if the environment at PATH were active.",
    ),
    "engine": option(
        "--engine",
        "Framework for FILE.py:NAME [the one it uses].",
        choices=" ".join(ENGINES),
        targets="function checks",
        excludes="grad vjp jvp value_and_grad",
    ),
    "over": value_option("--over NAME=FROM:TO", "Range of an input, like the argument x=-3:3. Repeatable."),
    "points": option("--points N", "Points along each input [200, or 60 for two].", type=Count(1000, least=2)),
    "range_points": option("--points N", "Number of points [49].", type=Count(1000, least=2), default=49),
    "plot": option(
        "--plot", "Draw the Jacobian as heat maps. -o FILE.svg or .png writes a picture.", formats="table svg png"
    ),
    "values": option("--values", "Show the value and the gradient of every result.", name="with_values"),
    "direction": option(
        "--direction", "Draw upwards (BT) or to the right (LR) [BT].", choices="BT LR", formats="dot mermaid svg png"
    ),
    "all": option("--all", "Draw every node, however many there are."),
    "digits": option(
        "--digits N",
        "Compute in high precision, with N digits.",
        type=Count(10_000),
        excludes="dtype precision detect_anomaly retain retain_all symbolic check",
    ),
    "check_digits": option(
        "--digits N",
        "Also compare with N-digit arithmetic. The option cannot be combined with --grad, --vjp, --jvp or --hess.",
        type=Count(10_000),
        targets=LOCAL,
        excludes="grad vjp jvp hess value_and_grad",
    ),
    "value_digits": option(
        "--digits N",
        "Evaluate the formulas with N digits. The point is given by values or by --at.",
        type=Count(10_000),
        formats=SHOWN,
    ),
    "symbolic": option(
        "--symbolic",
        "Compare with SymPy's formulas, and show them. Exit with 1 if they disagree.",
        formats="table tsv json latex csv",
    ),
    "check_symbolic": option("--symbolic", "Also compare with SymPy's formulas.", targets=LOCAL),
    "check": option(
        "--check",
        "Compare the result with that of other methods. These methods are numeric, forward-mode, 50-digit and symbolic "
        "differentiation.",
    ),
    "max_symbols": option(
        "--max-symbols N",
        "Maximum number of elements in formulas [64]. All elements of the inputs are counted.",
        type=Count(1_000_000),
    ),
    "timeout": option(
        "--timeout S",
        "Time limit in seconds [30, or none]. The default is 30 s of CPU time for an expression, and none for "
        "Python files.",
        callback=as_positive,
    ),
    "script_timeout": option("--timeout S", "Time limit in seconds [none].", callback=as_positive),
    "simplify": option("--simplify", "Simplify the formulas, within --timeout.", formats=SHOWN),
    "high_order": option("--order N", "Order of the derivatives [1].", type=Count(10), formats=SHOWN),
    "matrix": option(
        "--matrix",
        "Print derivatives as matrix formulas. Arrays may have any size, and lengths may be names: --shape "
        "A=m,n --shape x=n.",
        formats="table text latex json python",
        excludes="at digits simplify max_symbols gradient",
    ),
    "symmetric": inputs_option("--symmetric NAMES", "These inputs are symmetric. Only with --matrix.", needs="matrix"),
    "spd": inputs_option(
        "--spd NAMES", "These inputs are symmetric positive definite. Only with --matrix.", needs="matrix"
    ),
    "at": value_option("--at NAME=VALUE", "Evaluate the formulas at this point. Repeatable.", formats=SHOWN),
    "steps": option("--steps", "Show the chain rule, node by node.", formats=SHOWN, excludes="order gradient"),
    "only_pass": option(
        "--pass N|last", "Show only this run of backward, counted from 1.", name="only", callback=as_pass
    ),
    "step": option("--step", "Wait for a key after each step: q quits, a shows all remaining steps."),
    "detect_anomaly": option("--detect-anomaly", "Name the first operation that produces nan."),
    "outs": names_option(
        "--out NAMES",
        "Use the values of these names as outputs. For a,b, the columns are a, d_a_x, b, d_b_x and so on.",
        name="outs",
        complete="complete_names",
    ),
    "diag": option(
        "--diag",
        "Also compute second derivatives (d2_NAME). d2_NAME is the second derivative with respect to the input NAME.",
    ),
    "keep": names_option(
        "--keep COLUMNS", "Also copy these columns to the result. COLUMNS are columns of POINTS, such as id,day."
    ),
    "no_keep": option("--no-keep", "Do not copy the input columns to the result."),
    "delimiter": option(
        "--delimiter CHARACTER",
        "Character between the cells of POINTS [by type]. The default is a comma, or a tab in .tsv files.",
        callback=as_delimiter,
    ),
    "sweep_format": option(
        "-f --format",
        "Format of the table, csv or tsv [by extension]. The default is the extension of FILE, or else csv. "
        "With json, the table is still written to FILE, and a summary is printed as JSON; this needs -o.",
        choices="csv tsv json",
    ),
    "shard": option("--shard K/N", "Compute the K-th of N equal shares of the rows.", default="1/1", callback=as_share),
    "sweep_jobs": option("-j --jobs N", "Compute in N threads or processes [1].", type=Count(1000)),
    "dask": option(
        "--dask ADDRESS",
        "Run on a Dask cluster. ADDRESS is the tcp://HOST:PORT or the FILE.json of its scheduler. `local` starts a new "
        "cluster on this machine.",
    ),
    "restart": option(
        "--restart",
        "Do not continue an interrupted sweep. The parts that it finished are discarded, and the sweep starts again.",
    ),
    "sweep_output": file_option(
        "-o --output FILE",
        "File for the table: .csv, .tsv or .parquet; - is standard output [-].",
        name="table",
        default="-",
    ),
    "json": option("--json", "The same as -f json.", name="format", flag_value="json"),
    "output": file_option("-o --output FILE", "Write to FILE; - is standard output."),
    "precision": option("--precision N", "Number of significant digits to print.", type=Count(50)),
    "color": option(
        "--color", "When to use colour [auto: on a terminal].", choices="auto always never", default="auto"
    ),
    "quiet": option("-q --quiet", "Print only results and errors."),
    "verbose": option("-v --verbose", "Print more notes."),
}
