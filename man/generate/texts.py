"""What the manual says beyond the commands' help, in running text: `code` is quoted, gradcli(1) is a reference."""

from __future__ import annotations

EXIT_STATUS = [
    ("0", "Done; every check passed."),
    ("1", "A check found a wrong derivative, or two ways to compute one disagree."),
    ("2", "Bad usage or bad input: options, expressions, files, shapes, missing names."),
    ("3", "The target itself raised an error while running."),
    ("4", "No wrong derivative was found, but at least one check is inconclusive."),
    ("70", "A defect in gradcli itself; please report it."),
    ("130", "Interrupted."),
]
ENVIRONMENT = [
    ("NO_COLOR", "If set and not empty, there is no colour, unless `--color always` is given."),
    ("FORCE_COLOR", "If set and not empty, there is colour also in files and pipes."),
    ("COLUMNS", "The width of tables, if it is not that of the terminal."),
    ("TERM", "If it is `dumb`, there is no colour."),
    ("VIRTUAL_ENV", "The environment whose Python runs Python targets."),
    ("CONDA_PREFIX", "The same, where there is no VIRTUAL_ENV and no folder .venv."),
]
PROGRAMS = [
    ("*.expr", "Programs in the expression language, see gradcli-expressions(7): parsed, never executed."),
    ("*.py", "Python scripts, functions and declared checks: executed, unless `--safe` is given."),
]
DATA = ("*.npy, *.npz, *.csv, *.tsv, *.txt, *.json", "Arrays for `NAME=@FILE`. Pickled arrays are refused.")
WRITTEN = (".gradcli-*", "Where `-o` writes first, beside the file that it names, which is then replaced.")
TARGETS = """
A target is an inline expression; `-` for a program on standard input; a file in the expression language of
gradcli-expressions(7), which is parsed and never executed; a Python script, which is executed as `python file.py`
would execute it, with the arguments after `--` as its own; or `FILE.py:NAME` for a function, whose inputs are its
parameters, a custom Function or a Module of that file. Parameters annotated with `int` or a type of whole numbers,
such as `torch.LongTensor`, get whole numbers and have no derivative. A target may also be an address: of a
server, of a program that answers lines of JSON, or, for gradcli-gradcheck(1), of a function of a shared library, as
told there; then the derivatives are those that it gives.

A name that ends in .py or .expr, or has .py: in it, is always a file; any other is a file only if that file exists.
A Python file whose statements all belong to the expression language is read as such. After `-e` comes an
expression, whatever it looks like.

The inputs of an expression program are the names that the command line gives values to, and those that the program
binds to numbers or array constructors. Its output is the last bare expression, or else the last assignment. The
inputs of a script are its tensors that require grad, by their global names, `net.f1.weight` for those of a module
and `leaf@line 12` for those without a name; if the script ran backward itself, their gradients are reported, else
its output is the tensor in its last statement.
"""
VALUES = """
A value is an expression without names, such as `2`, `[[1, 2], [3, 4]]`, `linspace(0, 1, 5)` or `randn(3, 4)`, or
`@FILE` for a .npy, .npz, .csv, .tsv, .txt or .json file. `@FILE:KEY` is a part of it: an array of an .npz archive, a
column of a table by its heading or its number, counted from 0, or what stands under a key of a JSON document, `a.b`
for one inside another. `@-` is JSON on standard input, and `@-:csv` or `@-:csv:KEY` another format there. Pipes and
other names without a known suffix, such as `@/dev/stdin` or the `@<(command)` of a shell, are told by what they hold,
unless `:FORMAT` follows. What comes from a pipe is kept, so that several values may be parts of it. A value overrides
that which the program gives to that input.

`@FILE` alone, without a name, gives all arrays of an .npz archive or of a JSON document as values by their names; a
value of its own goes before them. `--columns FILE` gives the columns of a table with a heading that the program has
as inputs.
"""
OUTPUT = """
Results go to standard output, everything else to standard error. The default format is a table on a terminal and
tab-separated lines elsewhere: the name of an element, a tab, and its value in full precision. With `--json` there
is one JSON document, described in gradcli-json(5), and errors are JSON, too. A table shows arrays of up to 20
numbers whole, and the ends of longer ones; files that `-o` writes, and pages, have all elements.

Pictures of curves, maps, Jacobians, digits and Taylor remainders (.svg, .png) need matplotlib: `pip install
matplotlib`, the extra gradcli[plot]. Graphs are drawn by Graphviz where its program `dot` is installed; without it,
SVG needs no other program, and PNG needs matplotlib. Parquet needs pyarrow: `pip install pyarrow`, the extra
gradcli[sweep]. All else comes with gradcli.
"""
DESCRIPTIONS = {
    "grad": """
The gradient of a non-scalar output needs `--gradient`, a vector of the output's shape; gradcli-jacobian(1) prints
all rows instead. Hooks run in the order in which they are given.

In tab-separated lines and CSV there are the gradients only, unless `--value` asks for the value of the output; the
other formats have it, too.
""",
    "gradcheck": """
The numeric derivative comes with an estimate of its error, so that there is no step and no tolerance to choose. A
check passes when the claimed derivative agrees within that error, and says how small a mistake it would have seen;
it fails when the two differ by clearly more, and names the worst element, both values, and the mistake that
explains them; and it is inconclusive, with the reason, where the function does not allow a decision: noise, values
that are not finite, a kink whose one-sided derivatives are not known. At a kink, a value in the generalized
gradient passes. At a symmetric (Hermitian) matrix of which the function reads one triangle (`cholesky`, `eigh`), or
when it takes no other matrices, a derivative that is right along symmetric changes passes, and the report says so.

A pass names the resolution, an error above which would have been seen in every element, and what that rests on;
where it is coarser than 2 % of an element that matters, the verdict is inconclusive. Elements below the function's
own rounding are counted as not decidable and do not fail; where small elements are known less well than the largest
ones, both are told. gradcli-verdict(7) says how all this is found, and what it can miss. With `--timeout S` a check
has S seconds; importing a file is not counted, and may take ten times as long, or half a minute.
A backward is also given cotangents of zeros, of both signs, and sums of two: it must be linear in them. A function
that raises or returns another shape next to the point is sampled from the side on which it does not. A small
mismatch that is erratic from point to point comes from a solver inside the function, and is inconclusive. Elements of
an input that are nan or infinite are held constant, and a note counts them.

With `--elementwise` (`elementwise=True` in declarations and in `check_gradient`) the function works element by
element, as a ufunc, an activation or a model of `x` and numbers does, and what `--grad` names returns the derivative
of each element, in the output's shape, or one for each parameter, as `fit_deriv` does: nobody writes `np.diag`.
Inputs have the output's shape, or are numbers; 2000 elements at most. That no element changes another one's output
is seen from values first, and a function that mixes them fails.

The counts (3 passed, 1 failed in 2.50 s) go to standard error, whatever the format; with `-q` they are left out. A
check that is interrupted says there what it has found so far.

`-f concise` prints a line for each check that did not pass, `FILE:LINE:COLUMN: error: TEXT [gradcheck]` (`warning`
where it is inconclusive), as compilers do. Vim reads these with `:set makeprg=gradcli\\ gradcheck\\ -f\\ concise`,
Emacs with `M-x compile`; VS Code needs a problem matcher in tasks.json, and GitHub Actions the same, without
fileLocation, inside of `{"problemMatcher": [...]}` in a file that `echo "::add-matcher::FILE"` names:

    {"owner": "gradcheck", "fileLocation": ["relative", "${workspaceFolder}"],
     "pattern": [{"regexp": "^(.+?):(\\\\d+):(\\\\d+): (error|warning): (.*) \\\\[gradcheck\\\\]$",
                  "file": 1, "line": 2, "column": 3, "severity": 4, "message": 5}]}

`-f gitlab -o gl-code-quality-report.json` writes GitLab's code quality report, for `artifacts: reports: codequality:`.

A function may also run elsewhere; then the derivative that it gives is judged by its own values. Files declare such
checks, too: `gradcli.check("http://localhost:4242/forward", at={"x0": [1, 2]})`.
`http://HOST:PORT/MODEL` is a model that speaks UM-Bridge 1.0, with Gradient, ApplyJacobian or both; its inputs are
vectors, called x0, x1 and so on, its outputs y0, y1 and so on, laid end to end unless `--out` chooses one.
`http://HOST:PORT` is a Tesseract with vector_jacobian_product, jacobian_vector_product or both; its inputs have
names, such as `model.w` for one inside of another. Connections are kept, redirects are not followed, and https is
spoken as well. `cmd:COMMAND` is a program that answers lines of JSON, as gradcli-protocol(7) tells.

`LIB.so:DECLARATION` is a function of a shared library, by the line of its C header, with another for its derivative
after `--grad` or `--vjp`. A `const double *` is an input, a `double *` an output that is filled with zeros before,
and a `double` a single number; `float` likewise. An integer is the size of the first array, of the output if it is
called m, of x if it is called nx or n_x, or what the command line gives it. The size of an output that cannot be
known is given by `--shape y=3`. What belongs to x or to the output is found by its name, such as x_b, xb, x_bar, dx
or grad_x, or else by its place. An int that is returned is no output but a status, where 0 is success. The library
runs in a process of its own, so that a crash is an error of that check and nothing else.

`MODEL.fmu` is a Functional Mock-up Unit (FMI 2.0; `pip install fmpy`, the extra gradcli[fmu], brings what loads it):
its outputs at the start time as a function of its inputs and parameters, by their names, with the directional
derivative that it provides. What no value is given for keeps that of the model. It, too, runs in a process of its
own.

Functions of PyTorch and JAX run in double precision where they take it. What computes in float16 or bfloat16 on the
way (mixed precision) is judged by the digits that these have, which a note says; two digits are seldom enough for a
pass, and a wrong factor still fails.

A check moves all elements at once along random directions, so that a scalar function of n inputs is called at most
about 200 + 20 log2(n) times for a pass, and 600 for a fail with its element. Up to eight elements are estimated one by
one. `--show all` estimates every element, with about 15 calls each. `--calls N` limits the calls of any function
(`calls=` in declarations; products of a framework that call the function count, too): a clear disagreement within it
is a fail, and a check that N calls do not decide is inconclusive. The message and `calls_needed` in JSON then name a
number that is enough.

`--taylor` judges by the remainder |f(x + h d) - f(x) - h g.d| along a random direction d, for eight steps h of
which each is a quarter of the one before, on both sides: 16 calls. It falls with the square of h where g is right,
and with h where it is not. Steps at which rounding spoils it take no part in the rate. What disagrees there is
looked at as always.

With pytest, `pytest --gradcheck` runs the same declared checks as tests; `--gradcheck-allow-inconclusive` lets
inconclusive ones pass.

A file that has nothing to check here, for want of a package or of another version of one, says so as a test would:
`raise unittest.SkipTest("needs umap-learn 0.5.12")`, `pytest.skip` or `pytest.importorskip`. Its verdict is skipped,
with that reason; the summary counts it, and the exit code does not.

Beside other checkers: PyTorch's gradcheck and JAX's check_grads check what runs on their devices and with their
transforms, by central differences of a fixed step (1e-6) against fixed tolerances (atol 1e-5 and rtol 1e-3; 1e-5),
and answer True or an exception; HIPS autograd's does so in random directions, SciPy's check_grad returns the norm of
one difference of forward quotients, which you judge. This one is for gradients in NumPy, or C behind it: its
tolerance comes from the estimate, it takes one-sided derivatives at kinks, finds the probable mistake, and has
formulas and fifty digits as witnesses.
""",
    "eval": """
Lines of the value are called `value`, or `value[0,1]` by the element, whatever the output is called.
""",
    "sweep": """
A row is a point: a program with a sum, a product of matrices or a solver in it is a function of one row. The engine
maps it over blocks of rows. A program that branches on the numbers, as `if x > 0` in Python does, a script, and a
function that another framework differentiates are run row by row, and a note says so.

The result has the inputs first, then value and derivatives, then the columns of `--keep`, which are handed on as they
stand; other columns of POINTS are ignored. A cell of CSV holds a number, nothing, which is nan, or a list as JSON
writes it; what is null in Parquet is nan. The fields of a structured array are the columns of a .npy file. CSV on
standard input goes through a temporary file. Text of another kind is read with `--delimiter`: where that is no comma
(and in .tsv files), numbers may have decimal commas, all of them or none, and a note says so. What is written has
points. Derivatives are by the inputs that have a column, unless `--wrt` names others. The gradient by a list is a
list. With several outputs, `--out a,b`, the columns are called a, d_a_x, d2_a_x and so on.

A row whose value or derivatives are not finite is kept, with nan in place of these, and a note counts them; so is one
at which a matrix has no inverse. A row that cannot be read is an error that names it, and is found before anything is
written. A row at which the program raises ends the sweep.

The result is made in parts of about a second's work, which are renamed into place as they are done and joined in the
end. They wait in the folder OUTPUT.parts, beside a note of what they were made from; when the result is there, the
folder is gone. So the same command goes on where it was interrupted or killed, and refuses parts that were made from
another program, table or option, unless `--restart` is given. A finished result is replaced. What comes out does not
depend on interruptions, `-j` or `--dask`. The shares of `--shard` are done by commands of their own, each with its
own output, and follow one another.

Text is read and written without further packages, and with pyarrow, where that is installed, in a third of the time
and to the same bytes. Parquet needs pyarrow (`pip install pyarrow`, the extra gradcli[sweep]), and `--dask` needs
`dask[distributed]` and pyarrow (the extra gradcli[dask]). `-j` gains where the program is slow or its rows are text;
numbers in Parquet are bound by the disk. On a cluster, start `dask scheduler` and `dask worker` in a folder that all
machines see. A part is done anew when its worker dies.
""",
    "why": """
The script runs once and prints its own output. Then each gradient is reported with its state: ok, none, zero, nan or
inf. The state is that of the last use, by the script or by an optimizer, or that at the end of the script if no use
was made of it. For a gradient that is None, `why` follows the data from the tensor to the output, also through Python
numbers and NumPy, and names the line where it leaves the graph. A gradient counts as zero if it is zero within
rounding. Lines are those of the script and of the modules that it imports.

Without names, `why` does not report frozen parameters, parameters that no optimizer holds if the script has one, and
biases whose gradient is cancelled by a normalization. If the script raises an error, the exit code is 3; where
backward failed because nothing required grad, a hint names the cause.

The three most common questions: `y.grad` is None because y is the result of an operation:

    y = x * 2
    y.sum().backward()

Call `y.retain_grad()` before backward to keep it. `loss.grad` is None for the same reason; its gradient is 1.
`input.grad` is None after

    input = torch.randn(3, requires_grad=True).to(device)

because the leaf is what randn returned, and input is the result of `to`. Write
`input = torch.randn(3).to(device).requires_grad_()` instead.
""",
    "watch": """
A program can notice that it is watched by a few things. `PYTHONPATH` and the variables `GRADCLI_HOST` and
`GRADCLI_WATCH` are set, and a `sitecustomize` module is loaded before the program's own. `scipy.optimize.minimize` and
the other solvers are functions that wrap the original ones, and what a solver is handed is an object that calls the
user's function. `torch.autograd.Function.apply`, the calls of `jax.custom_vjp` and `custom_jvp`, and the `primitive` of
HIPS autograd are wrapped likewise. Arguments and results are copied, of large arrays at calls number 1, 2, 4, 8, and so
on. The graph node of a rule of PyTorch has one more hook, which copies the gradients that reach it. At its end the
process forks once (with JAX it judges before it ends), and `os._exit` is another function.

`python -I` and `python -E` ignore `PYTHONPATH`, which is how `watch` gets into a process, so that nothing is seen
there: leave the option out. Of wrappers for scikit-learn, xgboost's and lightgbm's own, the objectives are not seen.
""",
    "ops": """
The whole table stands in gradcli-expressions(7), too.
""",
    "schema": """
The schemas are JSON Schema 2020-12; gradcli-json(5) has the same in words. They change only by adding keys.
""",
}
OPTIONS = {
    "--hook": "ACTION's result, if it is not None, replaces the gradient. What it prints goes to standard output, "
    "with `--json` to standard error.",
    "--format": "In `tsv`, every line is the name of an element, a tab, and its value in full precision.",
    "--json": "Errors are then printed as JSON, too.",
    "--output": "The file is written whole or not at all; its ending chooses the format.",
    "--seed": "The same command gives the same numbers.",
    "--torch": "In a script, the default type is then float32.",
    "--color": "See ENVIRONMENT.",
    "--help": "",
}
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
A program of the expression language is what an inline target, `-e` or a file holds. It has Python's syntax for
expressions and NumPy's names and meanings for functions. It is parsed and never executed as Python: nothing in it
can read a file, run code or reach a Python object.
"""
SYNTAX = """
There is one statement a line, or several separated by `;`:

    name = expression
    name[index] = expression
    expression

A `#` begins a comment. The parts of an expression are:
"""
FORMS = [
    ("2 0.5 1e-3 2j", "Numbers, all of them floating-point or complex; integers are taken as floats."),
    ("[[1, 2], [3, 4]]", "An array, as nested lists."),
    ("x + y, x - y, x * y, x / y, x // y, x % y", "Arithmetic, element by element, with broadcasting."),
    ("x**y, x^y", "Power; `^` has the precedence of `**`, and both group from the right."),
    ("x @ y", "The matrix product."),
    ("-x, +x, ~x", "Signs, and the negation of booleans."),
    ("x < y, x <= y, x == y, x != y, x >= y, x > y", "Comparisons, which may be chained: `0 < x < 1`."),
    (
        "a and b, a or b, not a, a & b, a | b",
        "Logic of booleans, element by element. Between booleans, + is or and * is and, as in NumPy; with numbers "
        "and in sums they count as 1 and 0.",
    ),
    ("a if c else b", "The element of a where c is true, else that of b: the same as `where(c, a, b)`."),
    ("x[0], x[1:, ::2], x[..., -1], x[x > 0]", "Elements and slices, counted from 0; negative steps are allowed."),
    ("f(x, axis=0), x.f(axis=0)", "A call; every function may also be written as a method of its first argument."),
]
PROPERTIES = {
    "T": "The array with its axes in reverse order.",
    "mT": "The array with its last two axes exchanged.",
    "H": "The conjugate of the transpose.",
    "shape": "The lengths of the axes.",
    "ndim": "How many axes there are.",
    "size": "How many elements there are.",
    "real": "The real part.",
    "imag": "The imaginary part.",
}
CONSTANTS = {
    "pi": "The circumference of a circle over its diameter, 3.14159...",
    "e": "The base of natural logarithms, 2.71828...",
    "tau": "Twice pi, 6.28318...",
    "inf": "Infinity.",
    "nan": "Not a number.",
}
INPUTS = """
The output is the last bare expression, or else the last assignment; `--out NAME` picks another.

The inputs are the names given on the command line and the names that the program binds to literals or array
constructors: `x = 2`, `w = [[3, 1]]`, `v = linspace(0, 1, 5)`, `r = randn(3, 4)`. A name that the program later
binds again or assigns into is no input, and `const(3)` makes a constant. A value on the command line overrides that
of the program. With `--wrt` only some inputs are differentiated.

A name that is neither bound nor given is an error that lists every missing name and the command line that would
work. A program of more than 1 MiB, a nesting of more than 200 levels, or a value of more elements than
`--max-elements` allows is refused. On Linux, all values and derivatives of a program together may take 2 GiB of
memory, and more in proportion where `--max-elements` is larger than its default. A program may take 30 seconds of
CPU, what is asked of it and the printing included; with `--timeout S`, so many seconds of the clock.
"""
FUNCTIONS = """
What a function is differentiated by, where it is tested and what it gives at a kink is printed by gradcli-ops(1).
`dim` is understood as well as `axis`; functions that take a shape take it as `zeros(1, 2)` and as `zeros((1, 2))`.
"""
LANGUAGE_EXAMPLES = [
    "gradcli grad 'x**2 * sin(y)' x=2 y=3",
    "gradcli grad 'r = A @ x - b; sum(r^2)' A='[[2, 0], [1, 3]]' b='[1, 2]' x='[1, 1]' --wrt x",
    "gradcli grad 'n = zeros(1, 2); n[0, 0] = x**2; n[0, 1] = x; sum(n)' x=3",
    "gradcli grad '(x**2 if x > 0 else -x).sum()' x='linspace(-1, 1, 4)'",
    "gradcli grad model.expr --wrt w",
]
JSON = """
With `--json` a command prints one document on standard output. Numbers have full precision. An array is nested
lists, and a plain number where it has no axes; nan and the infinities are the strings `nan`, `inf` and `-inf`, and
a complex number is `{"re": a, "im": b}`.

Keys are only ever added. A program should ignore those that it does not know; those marked optional may be missing.
The same is printed as JSON Schema by gradcli-schema(1).
"""
JSON_EXAMPLES = [
    "gradcli grad 'x**2 * sin(y)' x=2 y=3 --json",
    "gradcli jacobian 'x * x' x='[2, 3]' --sparse --json",
    "gradcli schema grad -o grad.schema.json",
]
