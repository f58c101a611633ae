"""What the manual says beyond the commands' help.

`code` is quoted, gradcli(1) becomes a reference, and a paragraph `# Title` begins a section.
"""

from __future__ import annotations

EXIT_STATUS = {
    "0": "Success. If derivatives were checked, every check passed.",
    "1": "A check found a wrong derivative, or two ways to compute a derivative disagree.",
    "2": "The command line or an input is invalid, or a limit of time or size was exceeded.",
    "3": "The target raised an error.",
    "4": "No derivative is wrong, but at least one check is inconclusive.",
    "70": "A defect in gradcli itself; please report it.",
    "130": "Interrupted.",
}
NO_CHECKS = {"0": "Success.", "1": "", "4": ""}
NO_TARGET = {**NO_CHECKS, "3": ""}
EXIT_STATUS_OF = {
    **dict.fromkeys(("graph", "plot", "precision", "run", "sweep", "symbolic", "trace"), NO_CHECKS),
    **dict.fromkeys(("completion", "help", "ops", "schema"), NO_TARGET),
    "eval": {**NO_CHECKS, "1": "With `--strict`, the result contains nan or infinity."},
    "gradcheck": {
        "0": "Every check passed.",
        "1": "At least one check failed.",
        "3": "No check failed, but the function or derivative of at least one check raised an error, crashed or took "
        "too long.",
        "4": "At least one check is inconclusive; all others passed.",
    },
    "lock": {
        "0": "Success. With `--verify`, no check has changed.",
        "1": "With `--verify`, at least one check has changed.",
        "4": "",
    },
    "mutate": {
        "0": "COMMAND noticed every mutant whose error is above `--at-least`.",
        "1": "At least one of these mutants survived.",
        "3": "",
        "4": "",
    },
    "why": {
        "0": "Every reported gradient is ok.",
        "1": "At least one reported gradient is None, zero, nan or infinite.",
        "2": "The command line is invalid, or the time limit was reached.",
        "3": "SCRIPT raised an error.",
        "4": "",
    },
    "watch": {
        "0": "COMMAND succeeded, and every derivative that was checked passed.",
        "1": "COMMAND succeeded, and at least one derivative is wrong.",
        "2": "The command line is invalid, or COMMAND did not start Python.",
        "3": "",
        "4": "COMMAND succeeded and no derivative is wrong, but at least one is inconclusive. With "
        "`--allow-inconclusive`, the code is 0 instead.",
        "other": "COMMAND failed with this code, which may also be one of the codes above.",
    },
}
"""What differs for a command; exit codes with "" do not occur."""
ENVIRONMENT = [
    ("NO_COLOR", "If this is set and not empty, output has no colour unless `--color always` is given."),
    ("FORCE_COLOR", "If this is set and not empty, output has colour even in files and pipes."),
    ("COLUMNS", "The width of tables. The default is the width of the terminal."),
    ("TERM", "If this is `dumb`, output has no colour."),
]
PYTHON_ENVIRONMENT = [
    ("VIRTUAL_ENV", "The project's environment, unless `--python` or pyproject.toml selects a different one."),
    ("CONDA_PREFIX", "The project's environment if VIRTUAL_ENV is not set and no folder .venv is found."),
]
PROGRAMS = [
    ("*.expr", "Programs in the expression language. They are never run as Python; see gradcli-expressions(7)."),
    ("*.py", "Python scripts and functions. They are run, unless `--safe` is given."),
]
DATA = ("*.npy, *.npz, *.csv, *.tsv, *.txt, *.json", "Arrays for `NAME=@FILE`. Pickled objects are refused.")
WRITTEN = (".gradcli-*", "A temporary file in the folder of the `-o` file. Once complete, it is renamed to that file.")
PARTS = (
    "FILE.parts",
    "The finished parts of the table that `-o FILE` writes. It is removed when the table is complete.",
)
TARGETS = """
A target is one of these:

    'x^2 * y'      an expression
    -              a program in the expression language, on standard input
    FILE.expr      a file in the expression language
    FILE.py        a Python script
    FILE.py:NAME   a function, a custom Function or a Module of that file
    ADDRESS        a function of a server or of another program

Programs in the expression language, see gradcli-expressions(7), are parsed and never executed. A Python script runs as
`python FILE.py` would run it, with the arguments that follow `--`. The inputs of `FILE.py:NAME` are the parameters of
the function. A parameter that is annotated with `int` or an integer type, such as `torch.LongTensor`, gets integers and
has no derivative.

gradcli-gradcheck(1) lists the forms of an address. Its derivatives are those that the server or program returns.

A name that ends in .py or .expr, or that contains .py:, is always a file. Any other name is a file only if that file
exists. A Python file that contains only statements of the expression language is read as a program in that language.
The word after `-e` is always an expression.

The inputs of an expression program are the names that have values on the command line, and the names that the program
binds to numbers or array constructors. Its output is the last bare expression. Without one, it is the last assignment.

The inputs of a script are its tensors that require grad, under their global names. A parameter of a module is called
`net.f1.weight`, and a tensor without a name `leaf@line 12`. If the script itself runs backward(), these gradients are
reported. Otherwise its output is the tensor in its last statement.
"""
VALUES = """
A value is an expression without names, such as `2`, `[[1, 2], [3, 4]]`, `linspace(0, 1, 5)` or `randn(3, 4)`, or it
comes from a file:

    x=@FILE        a .npy, .npz, .csv, .tsv, .txt or .json file
    x=@FILE:KEY    a part of it: an array of an .npz archive, a column of a table
                   (by heading, or by number from 0), or a key of a JSON document
                   (a.b is the key b inside a)
    x=@-           JSON on standard input
    x=@-:csv       a different format on standard input; also @-:csv:KEY

Pipes and files without a known suffix, such as `@/dev/stdin` or the `@<(command)` of a shell, are recognized by their
content, unless `:FORMAT` follows. Data from a pipe is kept, so several values may be parts of it. A value on the
command line replaces the value that the program gives to that input.

`@FILE` without a name gives values to inputs from all arrays of an .npz archive or a JSON document, by their names. A
value that is given by name takes precedence. `--columns FILE` gives values from those columns of a table whose headings
are inputs of the program.
"""
OUTPUT = """
Results go to standard output, and everything else to standard error. On a terminal, the default format is a table.
Otherwise it is lines with tabs, such as the name of an element, a tab, and its value in full precision. With `--json`,
the output is one JSON document, which gradcli-json(5) describes, and errors are JSON, too. A table shows arrays of up
to 20 numbers in full and abbreviates longer ones. Files that `-o` writes, and HTML pages, contain all elements.

Pictures (.svg, .png) of curves, maps, Jacobians, digits and Taylor remainders need matplotlib: `pip install
matplotlib`, or the extra gradcli[plot]. Graphs are drawn by Graphviz if its program `dot` is installed. Without it, an
SVG file needs no other package, and a PNG file needs matplotlib. Parquet needs pyarrow: `pip install pyarrow`, or the
extra gradcli[sweep]. Everything else comes with gradcli.
"""
CAUSES = """
The word in brackets in a report is one of these:
"""
DESCRIPTIONS = {
    "grad": """
If the output is not a single number, `--gradient` must give an array of the output's shape. The Jacobian is multiplied
by this array from the left. gradcli-jacobian(1) prints the whole Jacobian instead. Hooks run in the order in which they
are given.

Lines with tabs, and CSV, contain only the gradients, unless `--value` is given. All other formats also contain the
value of the output.
""",
    "gradcheck": """
gradcheck compares the derivative that is claimed, by the engine or by you, with a numeric derivative. The numeric
derivative comes with an error estimate, so you do not have to choose a step or a tolerance. There are four verdicts:

    pass           the claimed derivative agrees with the numeric one
    fail           it does not agree; the report names the worst element and, if
                   gradcheck recognizes it, the mistake
    inconclusive   the function does not allow a verdict, for the reason given
    error          the function or its derivative raised an error, or the time
                   limit was reached

gradcli-verdict(7) explains how a verdict is found and which errors it can miss.

# Verdicts

A check passes if the claimed derivative agrees with the numeric one within the error of the latter. The report states
the resolution: an error of this relative size would have been detected in whichever element it occurred. If the
resolution is coarser than 2 % for an element that matters, the verdict is inconclusive. Elements that change the output
by less than the rounding of its values are counted as not decidable, and cannot fail. If small elements are known less
precisely than large ones, the report gives two resolutions.

A check fails if the claimed and the numeric derivative differ by clearly more than that error. The report names the
worst element, with both values, and the mistake that would explain them.

A check is inconclusive if the function does not allow a verdict. The reason may be noise, values that are not finite,
or a kink with unknown one-sided derivatives. At a kink, every value in the generalized gradient passes.

Some functions, such as `cholesky` and `eigh`, read only one triangle of a symmetric (Hermitian) matrix, or accept only
symmetric matrices. The derivative of such a function passes if it is right for symmetric changes of the matrix; the
report says so.

gradcheck also tests whether a backward pass is linear in the incoming gradient. For this it passes a vector, its
negative, zeros, and the sum of two vectors.

If the checked function can be evaluated on one side of the point only, that side is used for the estimate. A small
mismatch that changes erratically from point to point indicates a solver inside the function; the check is then
inconclusive. Elements of an input that are nan or infinite are held constant, and a note gives their number.

# Cost and limits

A check changes all elements together, along random directions. For a scalar function of n inputs, a check that passes
calls the function at most about 200 + 20 log2(n) times. A check that fails and names the wrong element takes about 600
calls. If there are up to eight elements, each is checked by itself. `--show all` estimates every element, with about 15
calls each.

`--calls N` (in declarations, `calls=`) limits the calls of the function. Calls that a framework makes to compute vector
products (vjp, jvp) count, too. A clear disagreement within N calls is a fail. If N calls are too few for a verdict, the
check is inconclusive. The message, and `calls_needed` in JSON, then give a sufficient number.

`--timeout S` limits each check to S seconds. The import of a file has a limit of its own: ten times S, and at least 30
seconds.

# Element by element

`--elementwise` (in declarations and in `check_gradient`, `elementwise=True`) is for functions that work element by
element: a ufunc, an activation, or a model of `x` with scalar parameters. The function after `--grad` then returns the
derivative of each element, in an array of the output's shape. For several parameters it returns one such array each, as
`fit_deriv` does in astropy. You do not need `np.diag`. Each input has the output's shape or is a single number, with at
most 2000 elements. gradcheck first verifies from values that an element of an input changes only the same element of
the output. A function that mixes elements fails.

# Taylor remainders

`--taylor` also prints the remainder |f(x + h d) - f(x) - h g.d| along a random direction d, where g is the claimed
gradient. It takes eight steps h on both sides of the point, each a quarter of the one before, with 16 calls. For a
right gradient, the remainder falls in proportion to the square of h; for a wrong one, in proportion to h. Steps that
are spoiled by rounding do not count towards this rate. The verdict is found as usual, and does not depend on the rate.

# Frameworks and low precision

Functions of PyTorch and JAX run in double precision if they accept it. Some functions compute in float16 or bfloat16
internally (mixed precision). They are judged by the precision of that type, and a note says so. A precision of two
digits is seldom enough for a pass, but a wrong factor still fails.

# Functions in servers and other programs

TARGET may be the address of a function that runs in a server or in another program. gradcheck then compares the
derivatives that this program returns with the values that it returns. Files can declare such checks, too:
`gradcli.check("http://localhost:4242/forward", at={"x0": [1, 2]})`.

`http://HOST:PORT/MODEL` is a model that speaks UM-Bridge 1.0 and supports Gradient, ApplyJacobian or both. Its inputs
are vectors called x0, x1 and so on. Its outputs are called y0, y1 and so on. They are concatenated unless `--out`
selects one of them.

`http://HOST:PORT` is a Tesseract with vector_jacobian_product, jacobian_vector_product or both. Its inputs keep their
names; `model.w` is the input w inside the input model. Connections are kept open, and redirects are not followed. Both
http and https work.

`cmd:COMMAND` is a program that answers lines of JSON; see gradcli-protocol(7).

`MODEL.fmu` is a Functional Mock-up Unit (FMI 2.0). It needs the package fmpy: `pip install fmpy`, or the extra
gradcli[fmu]. The function maps the inputs and parameters of the unit to its outputs at the start time, all by their
names. The claimed derivative is the directional derivative that the unit provides. Inputs without a value keep the
value that the model gives them. The unit runs in a separate process.

# Shared libraries

`LIB.so:DECLARATION` is a function of a shared library, and DECLARATION is the line that declares it in a C header. The
derivative is another function of that library; write its declaration after `--grad` or `--vjp`. The parameters are:

    const double *   an input
    double *         an output, filled with zeros before the call
    double           a single number
    int              the size of an array

`float` works like `double`. gradcheck sets an integer by its name: m is the size of the output, nx or n_x
is the size of x, and any other name is the size of the first array. The command line may also give it a value, such as
n=3. If the size of the output does not follow from these, `--shape y=3` sets it.

In the declaration of a derivative, the name of an array says whose gradient it holds: x_b, xb, x_bar, dx and grad_x
hold the gradient of x. Otherwise the position decides. If the function returns an int, it is a status, and 0
means success. The library runs in a separate process, so a crash is only an error of that check.

# Output for editors and CI

The counts, such as `3 passed, 1 failed in 2.50 s`, go to standard error in every format; `-q` omits them. If you
interrupt gradcheck, it prints what it has found so far.

`-f concise` prints a line for each check that did not pass, in the form of compiler messages: `FILE:LINE:COLUMN: error:
TEXT [FINDING]`. For an inconclusive check, `warning` replaces `error`. Vim reads these lines with `:set
makeprg=gradcli\\ gradcheck\\ -f\\ concise`, and Emacs with `M-x compile`. VS Code needs a problem matcher in
tasks.json:

    {"owner": "gradcheck", "fileLocation": ["relative", "${workspaceFolder}"],
     "pattern": [{"regexp": "^(.+?):(\\\\d+):(\\\\d+): (error|warning): (.*) \\\\[[a-z-]+\\\\]$",
                  "file": 1, "line": 2, "column": 3, "severity": 4, "message": 5}]}

GitHub Actions needs the same matcher without fileLocation, inside `{"problemMatcher": [...]}`. Write it to a file, and
let the workflow run `echo "::add-matcher::FILE"`.

`-f gitlab -o gl-code-quality-report.json` writes a code quality report for GitLab. Name this file under `artifacts:
reports: codequality:`.

`pytest --gradcheck` runs the declared checks as tests. With `--gradcheck-allow-inconclusive`, inconclusive checks pass.

If a file needs a package or a version that may be missing, let it skip itself as a test file does: with `raise
unittest.SkipTest("needs umap-learn 0.5.12")`, `pytest.skip` or `pytest.importorskip`. Its verdict is `skipped`, and
the report gives the reason. The summary counts skipped files, and the exit code ignores them.

# Comparison with other checkers

PyTorch's gradcheck and JAX's check_grads check code on their devices and with their transforms. Both use central
differences with a fixed step and fixed tolerances, and raise an error if these are exceeded. PyTorch's defaults are a
step of 1e-6, atol 1e-5 and rtol 1e-3. In double precision, JAX's are a step of 1e-4 and tolerances of 1e-5. The checker
of HIPS autograd works like that of JAX, with 1e-6 for all three. SciPy's check_grad returns the norm of the difference
from one forward difference, and you judge this norm yourself.

gradcli's gradcheck also checks gradients in NumPy and in C. It derives its tolerance from the error estimate, uses
one-sided derivatives at kinks, and names the probable mistake. `--symbolic` and `--digits 50` also compare with
formulas and with 50 digits.

# Calculators of ASE

`ase:FILE.py:CALCULATOR STRUCTURE` checks a calculator of ASE, which needs the extra gradcli[ase] or `pip install ase`.
CALCULATOR is an object, a class, or a function that returns a calculator. STRUCTURE is a file such as slab.xyz or
POSCAR, which `ase.io.read` reads. The energy is a function of `positions`, and its claimed derivative is minus the
forces. With `--stress`, the energy is also a function of `strain`, in the order xx, yy, zz, yz, xz, xy; the claimed
derivative is the stress times the volume. Constraints are not applied. If the calculator has a free energy, this energy
is used, because the forces are its derivative.

In a symmetric structure, forces are zero whatever the formula is. Therefore every atom is first moved at random, by
about 0.05 Å along each axis. `--seed` changes these moves, `--samples` checks several of them, and `positions=@FILE`
gives the positions instead.
""",
    "eval": """
In lines with tabs and in CSV, the value is called `value`, and an element of it `value[0,1]`, whatever the name of the
output is.
""",
    "sweep": """
# Rows

Each row is a point of its own: a sum, a matrix product or a solver in TARGET works on the values of one row. gradcli
computes many rows in one call. Three kinds of targets run once for each row instead, which takes longer; a note says
so:

- scripts,
- functions that use a framework other than gradcli's engine, such as PyTorch,
- Python functions that branch on values, as in `if x > 0`.

If the value or a derivative in a row is nan or infinite, the row is kept, and a note counts such rows. If a matrix in a
row has no inverse, the results of that row are nan. If a row of POINTS cannot be read, the sweep does not start, and
the error names the row. If TARGET raises an error in a row, the sweep ends, and the error names the row.

# Columns

The result has these columns, in this order:

- the inputs that POINTS has a column for, unless `--no-keep` is given
- value: the output of TARGET
- d_NAME: the derivative of the output with respect to the input NAME
- d2_NAME, with `--diag`: the second derivative with respect to NAME
- the columns of `--keep`

With `--out a,b`, the output a has the columns a, d_a_NAME and d2_a_NAME, followed by those of b. There is a derivative
with respect to each input that POINTS has a column for, unless `--wrt` selects other inputs. The derivative with
respect to a list is a list.

In text files, a cell contains a number or a list as in JSON. An empty cell means nan, as does null in Parquet. A .npy
file has to contain a structured array, whose fields are the columns. Numbers may have decimal commas in .tsv files, and
in other text if `--delimiter` is not a comma. This is possible only if all numbers have them; a note then says so. The
result always has decimal points.

# Interrupting and resuming

With `-o FILE`, a sweep that was interrupted or killed can be resumed: run the same command again. gradcli writes the
result in parts, each about a second of work, to the folder FILE.parts. When all parts are finished, it joins them and
removes the folder. If TARGET, POINTS or an option that affects the result has changed, the command reports an
error. `--restart` discards the old parts. If the sweep was already complete, the same command computes it again.

Interruptions, `-j` and `--dask` do not change the result. With `--shard`, you run N commands, each with its own FILE.
The rows of these files, in the order of K, are the rows of the whole result.

# Packages and speed

CSV and .tsv files need no other package. With pyarrow, they are read and written about three times as fast, with the
same result. Parquet needs pyarrow: `pip install pyarrow`, or the extra gradcli[sweep]. `--dask` needs
`dask[distributed]` and pyarrow (the extra gradcli[dask]). `-j` helps if TARGET is slow, or if POINTS or the result is
text.

The workers of a Dask cluster need gradcli and access to the files. Start `dask scheduler` and `dask worker` in a folder
that all machines share. If a worker dies, another one computes its part again.
""",
    "why": """
# What is reported

The script runs once and prints its own output. Then `why` reports each gradient, with its state: ok, none, zero, nan or
inf. This is the state when the script or an optimizer last used the gradient, or otherwise at the end of the script. A
gradient that contains only rounding errors counts as zero.

In this page, the output is the tensor on which the script calls backward(). If a gradient is None, `why` follows the
data from the tensor to the output, also through Python numbers and NumPy arrays. It reports the line at which the data
leaves the graph, in the script or in a module that the script imports.

If you give no NAME, `why` does not complain about gradients that are usually meant to be None or zero:

- It leaves out frozen parameters of modules.
- If the script has an optimizer, `why` leaves out parameters of modules that no optimizer holds and whose gradient is
  None.
- It reports a bias as ok if its gradient is zero because a normalization follows.

If the script raises an error because a gradient is missing, a hint gives the cause.

# Common questions

Why is `y.grad` None after these lines?

    y = x * 2
    y.sum().backward()

The tensor y is the result of an operation, and backward() fills `.grad` only for leaf tensors, such as x. Call
`y.retain_grad()` before backward() to keep the gradient of y. `loss.grad` is None for the same reason.

Why is `w.grad` None after these lines?

    w = torch.randn(3, requires_grad=True) * 0.1
    w.sum().backward()

The leaf is the tensor that randn() returned, and w is the result of a multiplication. Create the leaf last: `w =
(torch.randn(3) * 0.1).requires_grad_()`. Functions such as to() and double() return a new tensor in the same way.
""",
    "watch": """
# Special cases

A PyTorch function is checked with the memory layouts and the incoming gradients of the recorded call. A PyTorch or JAX
function that is only traced (by jit, vmap, scan or torch.compile) is never called with numbers. It is checked at random
values of the recorded shapes. A second derivative, such as hess, is checked against the first derivative if that one
passed, and otherwise against the objective.

In each process, checking may take as long as the run, plus 60 seconds. A derivative that is not checked within this
time is reported as inconclusive.

# What changes for the program

A program can notice that it is watched:

- The environment variables `PYTHONPATH`, `GRADCLI_HOST` and `GRADCLI_WATCH` are set. Python loads gradcli's
  `sitecustomize` module, which then loads the program's own.
- The solvers of SciPy and train() of xgboost and lightgbm are wrapped. They receive callable objects instead of the
  user's functions.
- `torch.autograd.Function.apply`, the `__call__` methods of `jax.custom_vjp` and `jax.custom_jvp`, and the `primitive`
  decorator of HIPS autograd are wrapped.
- Arguments and results are copied. If the tensors that a PyTorch function receives have more than 100,000 elements
  together, they are copied only in calls 1, 2, 4, 8 and so on. The last of these calls then counts as the last call.
- In PyTorch, the graph node of a custom function has an additional hook, which copies the incoming gradients.
- At its end, the process forks, and the child runs the checks. A process that uses JAX cannot fork safely, so it runs
  the checks itself.
- `os._exit` and the default handler of SIGTERM are replaced, so that the checks also run if one of them ends the
  process.

# What is not recorded

`watch` enters a Python process through `PYTHONPATH`. `python -I` and `python -E` ignore this variable, so run Python
without these options. In xgboost and lightgbm, `watch` does not see objectives that are passed to the scikit-learn
interface, such as XGBRegressor.
""",
    "ops": """
gradcli-expressions(7) lists all functions.
""",
    "schema": """
The schemas follow JSON Schema 2020-12. gradcli-json(5) describes the same documents in words. New versions may add
keys, but do not remove or rename any.
""",
}
WHOLE = "FILE is written completely or not at all."
PROJECT = "gradcli-environment(7) describes how the default is chosen."
FORMULAS = "Deriving formulas has a limit of its own [20 s]."
DIGITS = "Computing in high precision has a limit of its own [20 s]."
BOTH = "Deriving formulas and computing in high precision have limits of their own [20 s]."
ANSWERS = "If the function runs in another program, the limit applies to each of its answers [60 s]."
OPTIONS = {
    "--hook": "If ACTION returns a value other than None, this value replaces the gradient. What ACTION prints goes to "
    "standard output, or with `--json` to standard error.",
    "--json": "Errors are also printed as JSON.",
    "--max-elements": "On Linux, a program in the expression language may use 2 GiB of memory, or proportionally more "
    "if N is above 1e8.",
    "--output": f"{WHOLE} A known extension, such as .json, selects the format. For other names, pass `-f`.",
    "--python": PROJECT,
    "--seed": "In the expression language, the same seed always gives the same numbers. In Python files that use "
    "gradcli's engine, this is so only if N is above 0.",
    "--torch": "The default type in scripts is then float32, as in PyTorch, whatever `--dtype` is.",
}
SCRIPT_ONLY = {
    "--max-elements": "It has no effect on scripts.",
    "--safe": "SCRIPT is therefore always refused.",
    "--seed": "",
    "--torch": "",
}
OPTIONS_OF: dict[str, dict[str, str]] = {
    "grad": {"--timeout": f"{BOTH} {ANSWERS}"},
    "jacobian": {"--timeout": f"{FORMULAS} {ANSWERS}"},
    "hessian": {"--timeout": FORMULAS},
    "symbolic": {"--timeout": BOTH},
    **{name: {"--timeout": DIGITS} for name in ("eval", "precision")},
    **{name: {"--timeout": ANSWERS} for name in ("vjp", "jvp", "hvp")},
    **dict.fromkeys(("run", "why"), SCRIPT_ONLY),
    "lock": {"--timeout": "It applies to each check."},
    "gradcheck": {
        "--timeout": f"It applies to each check. {BOTH} {ANSWERS}",
        "--seed": "The seed determines random inputs and directions, and the numbers of rand and randn.",
    },
    "schema": {"--output": WHOLE},
    "sweep": {"--output": WHOLE},
}
"""What the manual adds to the help of an option; what differs for a command."""
ELEMENTS = "In `tsv`, each line has two columns: the name of an element, and its value in full precision."
POINTS = "In `tsv`, each line describes one point, in these columns: the inputs,"
LINES = {
    **dict.fromkeys(("grad", "jacobian", "hessian", "vjp", "jvp", "hvp"), ELEMENTS),
    "eval": f"{ELEMENTS} With ranges, each line describes one point: the inputs, and the value of TARGET.",
    "plot": f"{POINTS} the function and its derivatives.",
    "precision": f"{POINTS} the number of right digits of the value and of each gradient.",
    "graph": "In `tsv`, each line describes one node, in these columns: number, kind, operation, name, formula, shape, "
    "inputs and line.",
    "trace": "In `tsv`, each line is an element of a gradient that a step sends: the numbers of the pass and of the "
    "step, the operation, its result, the receiving element, and the gradient.",
    "why": "In `tsv`, each line describes one gradient, in these columns: name, state, cause, file, line, "
    "explanation and remedy.",
    "gradcheck": "In `tsv`, each line is a check: verdict, name, file, line, seconds and reason. Lines that begin with "
    "element or taylor follow with `--show all` and `--taylor`.",
    "watch": "In `tsv`, each line describes one derivative, in these columns: verdict, role, function, file, line, "
    "points, calls and reason.",
    "lock": "In `tsv`, each line describes one check, in these columns: name and file, or with `--verify` verdict, "
    "name, file and reason.",
    "mutate": "In `tsv`, each line describes one mutant, in these columns: killed or survived, relative "
    "error, seconds and name.",
    "ops": "In `tsv`, each line describes one function, in these columns: name, kind, derivatives and description.",
}
"""What tab-separated lines hold."""
EXAMPLES = {
    "": [
        "gradcli grad 'x**2 * sin(y)' x=2 y=3",
        "echo 'x = 2; x^3' | gradcli grad - --json",
        "gradcli gradcheck grads.py:f --grad g --shape x=3",
    ],
    "grad": [
        "gradcli grad 'sum((A @ x - b)^2)' A=@a.npy b=@b.csv x='zeros(3)' --wrt x",
        "gradcli grad '[x[0]^2, x[0]*x[1]]' x='[2, 3]' --gradient '[1, 0]'",
        "gradcli grad 'y = 2*x; sum(y^2)' x='[1, 3]' --hook 'y=clip(g, -5, 5)' --retain y",
        "gradcli grad train.py w=0.5 -- --epochs 3",
    ],
}
LANGUAGE = """
gradcli has a small language for mathematical expressions. Its syntax is that of Python expressions; the exceptions are
listed below. It has mathematical functions of NumPy, SciPy and PyTorch, under the same names.

You can write a program in this language on the command line as TARGET, after `-e`, or in a file. gradcli never runs it
as Python. The program cannot read files or use Python objects.
"""
SYNTAX = """
Write one statement per line, or separate several with `;`:

    name = expression
    name[index] = expression
    expression

A `#` begins a comment. An expression consists of:
"""
FORMS = [
    ("2 0.5 1e-3 2j", "A real or complex number. All numbers are floating-point: 2 is the same as 2.0."),
    ("[[1, 2], [3, 4]]", "An array, as nested lists."),
    ("x + y, x - y, x * y, x / y, x // y, x % y", "Arithmetic, element by element, with broadcasting as in NumPy."),
    ("x**y, x^y", "x to the power y. Unlike in Python, `^` means the same as `**`. `2^3^2` is `2^(3^2)`."),
    ("x @ y", "The matrix product."),
    ("-x, +x", "Minus x, and x itself."),
    ("x < y, x <= y, x == y, x != y, x >= y, x > y", "A comparison, element by element. `0 < x < 1` is allowed."),
    (
        "a and b, a or b, not a, a & b, a | b, ~a",
        "Logical and, or and not. Unlike in Python, they work element by element. `&`, `|` and `~` are only for "
        "booleans. If a and b are both booleans, `a + b` means `a or b`, and `a * b` means `a and b`. Otherwise, true "
        "counts as 1 and false as 0, as in `sum(x > 0)`.",
    ),
    ("a if c else b", "a where c is true, otherwise b, element by element: the same as `where(c, a, b)`."),
    ("x[0], x[1:, ::2], x[..., -1], x[x > 0]", "Elements and slices, as in NumPy. The first index is 0."),
    ("f(x, axis=0), x.f(axis=0)", "A function call. `x.f(...)` is the same as `f(x, ...)`, for every function."),
]
PROPERTIES = {
    "T": "The array with its axes in reverse order.",
    "mT": "The array with its last two axes exchanged.",
    "H": "The complex conjugate of x.T.",
    "shape": "The lengths of the axes, such as x.shape[0].",
    "ndim": "The number of axes.",
    "size": "The number of elements.",
    "real": "The real part.",
    "imag": "The imaginary part.",
}
CONSTANTS = {
    "pi": "The ratio of a circle's circumference to its diameter, 3.14159...",
    "e": "The base of natural logarithms, 2.71828...",
    "tau": "Twice pi, 6.28318...",
    "inf": "Infinity.",
    "nan": "Not a number.",
}
INPUTS = """
The output of a program is its last statement that is not an assignment. If there are only assignments, the output is
the value of the last one. `--out NAME` selects the value of NAME instead.

The inputs of a program are the names with respect to which gradcli differentiates. These are the names that have a
value on the command line, and the names to which the program assigns one of these:

    x = 2, x = [[3, 1]]    a number or an array
    v = linspace(0, 1, 5)  a call of array, zeros, ones, full, eye, identity,
                           arange, linspace, logspace, rand or randn
    w = 0.1 * randn(3, 4)  arithmetic with such values

A value on the command line replaces the value that the program assigns. `x = const(3)` does
not make x an input. A name is not an input either if the program assigns to it, or to one of its elements, a second
time. `--wrt` differentiates with respect to some of the inputs only.

If names have no value, an error lists them and suggests a command line that works.

# Limits

A program may have up to 1 MiB of text and 200 levels of nesting. `--max-elements` limits the number of elements of an
array. On Linux, a program may use 2 GiB of memory, or proportionally more if `--max-elements` is above its default. A
program may use 30 seconds of CPU time, or with `--timeout S` run for S seconds. gradcli-sweep(1) has no time limit.
"""
SPECIAL = {
    "array(x)": "x as an array.",
    "const(x)": "x as a constant, which is not an input.",
    "rand(*shape)": "Random numbers from 0 to 1, in this shape. The seed is `--seed`.",
    "randn(*shape)": "Random numbers with the standard normal distribution, in this shape. The seed is `--seed`.",
}
FUNCTIONS = """
The command `gradcli ops NAME` describes a function: its derivative, the intervals in which it is tested, and its
derivative at a kink. In a call, you may write `dim` for `axis`, and `keepdim` for `keepdims`. A shape may be written as
one argument or as several: `zeros((1, 2))` is the same as `zeros(1, 2)`.

If a function has several results, select one by an index: `slogdet(x)[1]`. Functions of integers, such as gcd, take
the integers that functions such as argmax return. The language has no strings. Arguments that take a string, such as
mode, therefore keep their default, and einsum works only in Python files.
"""
LANGUAGE_EXAMPLES = [
    "gradcli grad 'x**2 * sin(y)' x=2 y=3",
    "gradcli grad 'r = A @ x - b; sum(r^2)' A='[[2, 0], [1, 3]]' b='[1, 2]' x='[1, 1]' --wrt x",
    "gradcli grad 'n = zeros(1, 2); n[0, 0] = x**2; n[0, 1] = x; sum(n)' x=3",
    "gradcli grad '(x**2 if x > 0 else -x).sum()' x='linspace(-1, 1, 4)'",
    "gradcli grad model.expr --wrt w",
]
JSON = """
With `--json`, a command prints one document on standard output. Numbers have full precision. An array is a nested list,
or a single number if it has no axes. nan and the infinities are the strings `nan`, `inf` and `-inf`. A complex number
is `{"re": a, "im": b}`.

New versions may add keys, but do not remove or rename any. A program should ignore keys that it does not know. Keys
that are marked optional may be missing. gradcli-schema(1) prints the same description as JSON Schema.
"""
JSON_EXAMPLES = [
    "gradcli grad 'x**2 * sin(y)' x=2 y=3 --json",
    "gradcli jacobian 'x * x' x='[2, 3]' --sparse --json",
    "gradcli schema grad -o grad.schema.json",
]
