"""What the manual says beyond the commands' help.

`code` is quoted, gradcli(1) becomes a reference, and a paragraph `# Title` begins a section.
"""

from __future__ import annotations

EXIT_STATUS = {
    "0": "Success. If derivatives were checked, every check passed.",
    "1": "A check found a wrong derivative, or two ways to compute a derivative disagree.",
    "2": "Bad usage or bad input: options, expressions, files, shapes, missing names.",
    "3": "The target raised an error.",
    "4": "No derivative is wrong, but at least one check is inconclusive.",
    "70": "A defect in gradcli itself; please report it.",
    "130": "Interrupted.",
}
EXIT_STATUS_OF = {
    "why": {
        "0": "Every reported gradient is ok.",
        "1": "At least one reported gradient is None, zero, nan or infinite.",
        "3": "The script raised an error.",
        "4": "",
    },
    "watch": {
        "0": "The command succeeded, and every derivative that was checked passed.",
        "1": "The command succeeded, and a derivative is wrong.",
        "3": "",
        "4": "The command succeeded, and no derivative is wrong, but the check of at least one is inconclusive.",
        "other": "The command itself exited with this code.",
    },
}
"""Where the exit codes of a command mean something else; those with "" do not occur."""
ENVIRONMENT = [
    ("NO_COLOR", "If this is set and not empty, output has no colour unless `--color always` is given."),
    ("FORCE_COLOR", "If this is set and not empty, output has colour even in files and pipes."),
    ("COLUMNS", "The width of tables. The default is the width of the terminal."),
    ("TERM", "If this is `dumb`, output has no colour."),
    ("VIRTUAL_ENV", "The environment whose Python runs Python targets."),
    ("CONDA_PREFIX", "The environment whose Python is used if VIRTUAL_ENV is not set and no folder .venv is found."),
]
PROGRAMS = [
    ("*.expr", "Programs in the expression language, which are parsed and never executed; see gradcli-expressions(7)."),
    ("*.py", "Python scripts, functions and declared checks, which are executed unless `--safe` is given."),
]
DATA = ("*.npy, *.npz, *.csv, *.tsv, *.txt, *.json", "Arrays for `NAME=@FILE`. Pickled arrays are refused.")
WRITTEN = (".gradcli-*", "A temporary file next to the output of `-o`. It replaces the output when it is complete.")
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

Each row is one point. A program that contains a sum, a matrix product or a solver therefore works with the values of
one row. The engine maps the program over blocks of rows. Three kinds of programs run row by row instead, and a note
says so:

- scripts,
- functions that a different framework differentiates,
- programs that branch on numbers, such as `if x > 0` in Python.

If the value or a derivative of a row is not finite, the row is kept with nan in its place. The same holds for a row at
which a matrix has no inverse. A note counts such rows. If a row cannot be read, the error names the row, and nothing is
written. If the program raises an error at a row, the sweep ends.

# Columns

The result has the inputs first, then the value and the derivatives. Then follow the columns of `--keep`, which are
copied unchanged. Other columns of POINTS are ignored. Derivatives are with respect to the inputs that have a column,
unless `--wrt` names others. The gradient with respect to a list is a list. With several outputs, `--out a,b`, the
columns are called a, d_a_x, d2_a_x and so on.

A cell of CSV contains a number, a list as in JSON, or nothing, which means nan. A null in Parquet is also nan. The
columns of a .npy file are the fields of its structured array. CSV on standard input goes through a temporary file. For
text with a different separator, use `--delimiter`. If the separator is not a comma, and in .tsv files, all numbers may
have decimal commas; a note then says so. Output always has decimal points.

# Interrupting and resuming

A sweep writes its result in parts, which take about a second each. The parts are kept in the folder OUTPUT.parts, with
a note of the program, the table and the options that they were made from. A part gets its name there when it is
finished. When all parts are finished, they are joined, and the folder is removed. The same command therefore resumes
where it was interrupted or killed. It refuses parts that were made from a different program, table or option, unless
`--restart` is given. A finished result is replaced.

The result does not depend on interruptions, `-j` or `--dask`. With `--shard`, separate commands compute the shares,
each with its own output. The rows of the second output follow those of the first, and so on.

# Packages and speed

Text needs no other packages. With pyarrow, reading and writing text takes a third of the time and gives the same bytes.
Parquet needs pyarrow: `pip install pyarrow`, or the extra gradcli[sweep]. `--dask` needs `dask[distributed]` and
pyarrow (the extra gradcli[dask]). `-j` helps if the program is slow or if the rows are text. For numbers in Parquet,
the disk is the limit. On a cluster, start `dask scheduler` and `dask worker` in a folder that all machines see. If a
worker dies, its part is computed again.
""",
    "why": """
# What is reported

The script runs once and prints its own output. Then `why` reports the state of each gradient: ok, none, zero, nan or
inf. This is the state when the script or an optimizer last used the gradient. If nothing used it, it is the state at
the end of the script. A gradient is zero if it is zero within rounding.

If a gradient is None, `why` follows the data from the tensor to the output, even through Python numbers and NumPy
arrays. It names the line at which the data leaves the graph. Lines are those of the script and of the modules that it
imports.

If you give no NAME, `why` leaves out three kinds of tensors:

- frozen parameters,
- parameters that no optimizer holds, if the script has an optimizer,
- biases whose gradient is cancelled by a normalization.

If the script raises an error, the exit code is 3. If backward() failed because no tensor required grad, a hint names
the cause.

# Common questions

Why is `y.grad` None? In this code, y is the result of an operation, and only leaf tensors keep their gradient:

    y = x * 2
    y.sum().backward()

Call `y.retain_grad()` before backward() to keep it. `loss.grad` is None for the same reason; its gradient would be 1.

Why is `input.grad` None after this line?

    input = torch.randn(3, requires_grad=True).to(device)

The leaf is the tensor that randn() returned, and input is the result of to(). Write
`input = torch.randn(3).to(device).requires_grad_()` instead.
""",
    "watch": """
# What changes for the program

A watched program can notice these differences:

- `PYTHONPATH` and the variables `GRADCLI_HOST` and `GRADCLI_WATCH` are set, and a `sitecustomize` module is loaded
  before the program's own.
- `scipy.optimize.minimize` and the other solvers are wrapped. The wrapper passes a callable object to the solver
  instead of the user's function.
- `torch.autograd.Function.apply`, the calls of `jax.custom_vjp` and `custom_jvp`, and the `primitive` of HIPS autograd
  are replaced in the same way.
- Arguments and results are copied. Large arrays are copied only at calls number 1, 2, 4, 8, and so on.
- The graph node of a custom function in PyTorch has one more hook, which copies the gradients that reach the node.
- The process forks once when it ends, to run the checks. If the program uses JAX, the process does not fork, but runs
  the checks itself. `os._exit` is replaced for this.

# What is not seen

`watch` enters a process through `PYTHONPATH`, which `python -I` and `python -E` ignore. Leave these options out.
Objectives that are passed to the scikit-learn interfaces of xgboost and lightgbm are not seen.
""",
    "ops": """
gradcli-expressions(7) lists all functions.
""",
    "schema": """
The schemas follow JSON Schema 2020-12. gradcli-json(5) describes the same documents in words. New versions may add
keys, but do not remove or rename any.
""",
}
OPTIONS = {
    "--hook": "If ACTION returns a value other than None, this value replaces the gradient. What ACTION prints goes to "
    "standard output, or with `--json` to standard error.",
    "--json": "Errors are then printed as JSON, too.",
    "--output": "The file is written completely or not at all. Its ending selects the format.",
    "--seed": "The same command with the same seed gives the same numbers.",
    "--torch": "In a script, the default type is then float32.",
    "--color": "See ENVIRONMENT.",
}
ELEMENTS = "In `tsv`, each line has the name of an element, a tab, and its value in full precision."
POINTS = "In `tsv`, each line is a point: the values of the inputs, then"
LINES = {
    **dict.fromkeys(("grad", "jacobian", "hessian", "vjp", "jvp", "hvp"), ELEMENTS),
    "eval": f"{ELEMENTS} Over ranges, each line is a point: the values of the inputs, then that of TARGET.",
    "plot": f"{POINTS} the function and its derivatives.",
    "precision": f"{POINTS} the right digits of the value and of each gradient.",
    "graph": "In `tsv`, each line is a node: number, kind, operation, name, formula, shape, inputs and line.",
    "trace": "In `tsv`, each line is an element of a gradient that a step sends: the numbers of the pass and of the "
    "step, the operation, its result, the receiving element, and the gradient.",
    "why": "In `tsv`, each line is a gradient: name, state, cause, file, line, explanation and remedy.",
    "gradcheck": "In `tsv`, each line is a check: verdict, name, file, line, seconds and reason. Lines that begin with "
    "element or taylor follow with `--show all` and `--taylor`.",
    "watch": "Without `-o`, the default is always table. In `tsv`, each line is a derivative: verdict, role, function, "
    "file, line, points, calls and reason.",
    "lock": "In `tsv`, each line is a check: name and file. With `--verify`: verdict, name, file and reason.",
    "mutate": "In `tsv`, each line is a mutant: killed or survived, relative error, seconds and name.",
    "ops": "In `tsv`, each line is a function: name, kind, derivatives and description.",
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
A program in the expression language is a target on the command line, the word after `-e`, or the content of a file. The
language has Python's syntax for expressions, and functions with NumPy's names and meanings. A program is parsed and
never executed as Python. It cannot read a file, run code or reach a Python object.
"""
SYNTAX = """
Write one statement per line, or separate several with `;`:

    name = expression
    name[index] = expression
    expression

A `#` begins a comment. An expression consists of:
"""
FORMS = [
    ("2 0.5 1e-3 2j", "Numbers. They are floating-point or complex; integers become floating-point numbers."),
    ("[[1, 2], [3, 4]]", "An array, as nested lists."),
    ("x + y, x - y, x * y, x / y, x // y, x % y", "Arithmetic, element by element, with broadcasting."),
    ("x**y, x^y", "Power. `^` means the same as `**`, and both group from the right."),
    ("x @ y", "The matrix product."),
    ("-x, +x, ~x", "Signs, and the negation of booleans."),
    ("x < y, x <= y, x == y, x != y, x >= y, x > y", "Comparisons, which may be chained: `0 < x < 1`."),
    (
        "a and b, a or b, not a, a & b, a | b",
        "Logic of booleans, element by element. Between booleans, `+` means `or`, and `*` means `and`, as in NumPy. In "
        "sums, and together with numbers, booleans count as 1 and 0.",
    ),
    ("a if c else b", "Elements of a where c is true, and of b where c is false: the same as `where(c, a, b)`."),
    ("x[0], x[1:, ::2], x[..., -1], x[x > 0]", "Elements and slices. Indices count from 0, and steps may be negative."),
    ("f(x, axis=0), x.f(axis=0)", "A call. Every function may also be written as a method of its first argument."),
]
PROPERTIES = {
    "T": "The array with its axes in reverse order.",
    "mT": "The array with its last two axes exchanged.",
    "H": "The conjugate of the transpose.",
    "shape": "The lengths of the axes.",
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
The output is the last bare expression. Without one, it is the last assignment. `--out NAME` selects a different value.

The inputs are the names that have values on the command line, and the names that the program binds to literals or array
constructors: `x = 2`, `w = [[3, 1]]`, `v = linspace(0, 1, 5)`, `r = randn(3, 4)`. A name that the program later binds
again, or to whose elements it assigns, is not an input. `const(3)` makes a constant instead of an input. A value on the
command line replaces the value in the program. `--wrt` limits differentiation to some of the inputs.

A name without a value is an error. The message lists every such name, and a command line that would work.

A program may have up to 1 MiB of text and 200 levels of nesting. A value may have as many elements as `--max-elements`
allows. On Linux, all values and derivatives of a program together may take 2 GiB of memory. If `--max-elements` is
larger than its default, this limit is larger in proportion. A program may take 30 seconds of CPU time, including all
computations and printing. With `--timeout S`, it may take S seconds of wall time instead.
"""
FUNCTIONS = """
For a function, gradcli-ops(1) prints the derivative, the intervals in which it is tested, and its value at a kink.
`dim` is accepted as well as `axis`. Functions that take a shape accept both `zeros(1, 2)` and `zeros((1, 2))`.
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
