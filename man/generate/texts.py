"""What the manual says beyond the commands' help.

`code` is quoted, gradcli(1) becomes a reference, and a paragraph `# Title` begins a section.
"""

from __future__ import annotations

EXIT_STATUS = {
    "0": "Success. If derivatives were checked, every check passed.",
    "1": "A check found a wrong derivative, or two ways to compute a derivative disagree.",
    "2": "The command line or an input is invalid, or a limit of time or size was exceeded.",
    "3": "The target raised an error. In gradcheck and fix, a check that crashes or takes too long counts as well.",
    "4": "No derivative is wrong, but at least one check is inconclusive, or `--numeric` did not find a derivative.",
    "70": "A defect in gradcli itself; please report it.",
    "130": "Interrupted.",
}
NO_CHECKS = {"0": "Success.", "1": "", "4": ""}
NO_TARGET = {**NO_CHECKS, "3": ""}
EXIT_STATUS_OF = {
    **dict.fromkeys(("graph", "plot", "precision", "run", "sweep", "symbolic", "trace"), NO_CHECKS),
    **dict.fromkeys(("completion", "help", "ops", "schema"), NO_TARGET),
    "eval": {**NO_CHECKS, "1": "With `--strict`, the result contains nan or infinity."},
    "fix": {
        "0": "Every derivative is right, or an edit that repairs it was found.",
        "1": "At least one derivative is wrong, and no edit was found.",
        "2": "The command line or an input is invalid, the derivative has no source that can be edited, or a file "
        "could not be written.",
        "3": "The function or derivative of at least one check raised an error, crashed or took too long.",
        "4": "At least one check is inconclusive; the others passed or were repaired.",
    },
    "gradcheck": {
        "0": "Every check passed. Skipped and accepted checks do not count.",
        "1": "At least one check failed.",
        "2": "The command line or an input is invalid.",
        "3": "No check failed, but the function or derivative of at least one check raised an error, crashed or took "
        "too long.",
        "4": "At least one check is inconclusive, and none failed or raised an error.",
        "125": "With `--bisect`: no check failed, but at least one is inconclusive or an error, or does not exist in "
        "this version of the file.",
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
        "0": "COMMAND succeeded, and every derivative or step that was checked passed.",
        "1": "COMMAND succeeded, and at least one derivative or step is wrong.",
        "2": "The command line is invalid, COMMAND did not start Python, or with `--loss`, no step could be checked.",
        "3": "",
        "4": "COMMAND succeeded and no derivative is wrong, but at least one is inconclusive. With "
        "`--allow-inconclusive`, the code is 0 instead.",
        "other": "If COMMAND fails, its own exit code is returned. It may be equal to one of the codes above.",
    },
}
"""Exit codes that differ for a command. A code with the text "" does not occur."""


def exit_status(command: str) -> dict[str, str]:
    """Return the exit codes of a command in rising order, with what they mean."""
    codes = EXIT_STATUS | EXIT_STATUS_OF.get(command, {})
    return {code: codes[code] for code in sorted(codes, key=lambda code: code.zfill(3))}


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
WRITTEN = (
    ".gradcli-*",
    "A temporary file in the folder of the `-o` file. When it is complete, it replaces the `-o` file.",
)
PARTS = (
    "FILE.parts",
    "A folder with the finished parts of the table that `-o FILE` writes. It is removed when the table is complete.",
)
TARGETS = """
A target is one of these:

    'x^2 * y'      an expression
    -              a program in the expression language, on standard input
    FILE.expr      a file in the expression language
    FILE.py        a Python script
    FILE.py:NAME   a function, a custom Function or a Module of that file
    ADDRESS        a function of a server or of another program

gradcli parses programs in the expression language and never runs them as Python; gradcli-expressions(7) describes the
language. A Python script runs as `python FILE.py` would run it, with the arguments that follow `--`. The inputs of
`FILE.py:NAME` are the parameters of the function. A parameter that is annotated with `int` or an integer type, such as
`torch.LongTensor`, gets integers and has no derivative.

Some methods differ between NumPy's arrays and PyTorch's tensors: `x.var()` divides by n in NumPy, and by n - 1 in
PyTorch. If the file imports NumPy, and neither gradcli nor PyTorch, methods have NumPy's meaning. If the code of the
function uses gradcli, they have PyTorch's. If the meaning is open and makes a difference, gradcli reports an error.

gradcli-gradcheck(1) lists the forms of an address. The server or program computes the derivatives itself.

A name that ends in .py or .expr, or that contains .py:, is always a file. Any other name is a file only if that file
exists. A Python file that contains only statements of the expression language is read as a program in that language.
The word after `-e` is always an expression.

The inputs of an expression program are the names that have values on the command line, and the names that the program
binds to numbers or array constructors. Its output is the last bare expression. Without one, it is the last assignment.

The inputs of a script are its tensors that require grad, under their global names. A parameter of a module is called
`net.f1.weight`, and a tensor without a name `leaf@line 12`. If the script itself calls backward(), gradcli reports the
gradients that this call computes. Otherwise the output of the script is the tensor in its last statement.
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

For a pipe or a file without a known suffix, such as `@/dev/stdin` or the `@<(command)` of a shell, gradcli detects the
format from the content, unless `:FORMAT` follows. It keeps the data of a pipe, so several values may come from one
pipe. A value on the command line replaces the value that the program gives to that input.

`@FILE` without a name reads an .npz archive or a JSON document, and gives each array in it to the input of the same
name. `--columns FILE` reads a table, and gives each column to the input that the heading names; it ignores all other
columns. A value that is given by name takes precedence over both.
"""
OUTPUT = """
Results go to standard output, and everything else to standard error. On a terminal, the default format is a table.
Otherwise, the output consists of tab-separated lines, such as the name of an element and its value in full precision.
With `--json`, the output is one JSON document, which gradcli-json(5) describes, and errors are JSON, too. A table shows
arrays of up to 20 numbers in full and abbreviates longer ones. Files that `-o` writes, and HTML pages, contain all
elements.

Pictures (.svg, .png) of curves, maps, Jacobians, digits and Taylor remainders need matplotlib: `pip install
matplotlib`, or the extra gradcli[plot]. Taylor remainders as SVG do not need it. Graphs are drawn by Graphviz if its
program `dot` is installed. A graph as PNG needs Graphviz, and a graph as SVG does not. Parquet needs pyarrow: `pip
install pyarrow`, or the extra gradcli[sweep]. The other formats need no other package.
"""
DESCRIPTIONS = {
    "grad": """
If the output is not a single number, `--gradient` must give an array of the output's shape. gradcli multiplies the
Jacobian by this array from the left. gradcli-jacobian(1) prints the whole Jacobian instead.

Tab-separated lines and CSV contain only the gradients, unless `--value` is given. All other formats also contain the
value of the output.

# Numeric derivatives

With `--numeric`, gradcli calls TARGET at points near the given one and computes the derivative from the values. TARGET
may be anything that has values: a function that uses SciPy, pandas or math, a C library, a program, a server. The
function receives plain numbers and arrays. A derivative takes 12 calls for each element of the inputs if the function
is smooth, and up to 100 if values cancel, are noisy or change on a very small scale.

Each number is followed by its error: the true derivative of the function lies within that distance. In tab-separated
lines, the error is the third column. If a derivative is not known, it is printed as nan with the error inf, a warning
says why (a kink, a jump, the end of the domain), and the exit code is 4. gradcli-bench(7) compares the results with
those of SciPy, numdifftools and jacobi.

`jacobian`, `hessian`, `jvp`, `plot` and `sweep` have this option, too. A second derivative takes about 20 calls for
each pair of elements. In Python, `value, error = gradcli.numeric(f, x)` does the same.
""",
    "fix": """
# What fix can edit

fix edits Python functions that have a source file: a function named by `--grad`, `--vjp` or `--jvp` or declared in the
file, the `backward` of an `autograd.Function`, and the rules of `custom_vjp` and `custom_jvp`. It also edits functions
in the same file if nothing but the derivative calls them. The file may wrap the derivative in a decorator. fix cannot
edit a lambda, a formula, a compiled function, or one without a source file. If the only derivative to check is wrong
and cannot be edited, fix prints an error and exits with 2. If it is one of several derivatives, fix reports that it is
wrong, and exits with 1.

# Which edits it tries

An edit changes one expression, adds or removes one statement, or replaces one name throughout a statement:

    sign        changes x to -x, or + to -
    constant    changes a number, for example to a number that occurs in
                the function, or multiplies by a number such as 2 or 1/2
    length      divides or multiplies by a length: len(x), x.size, x.shape[0]
    factor      multiplies or divides by a name or by a part of the function
    term        adds or removes a term, such as the second one of a product rule
    path        adds the term that a mean, a norm or a softmax contributes
                to the derivative
    matrix      transposes a matrix, swaps the operands of a product,
                or changes a @ b to a @ b + a.T @ b
    axis        changes the axis of a sum or mean, or keepdims
    index       shifts or reverses an index, or changes a slice
    mask        changes a comparison, or adds the condition of a maximum,
                a clip or a where()
    name        replaces a variable, or a function, such as sin by cos

Two mistakes in different inputs, elements or branches need two edits. If no single edit repairs the derivative, fix
tries pairs of edits. Each edit of a pair makes some elements right, and both together make all elements right. If the
inputs have more than 24 elements in total, each edit has to make a whole input right.

fix tries the edits that the diagnosis of gradcheck suggests first, then the likely ones, then the others. By default,
it tries at most 5,000 edits in at most 10 seconds for each derivative; `--candidates` and `--seconds` change this.

# Which edits it accepts

fix computes numeric derivatives along a few directions, once for each point. The edited derivative must agree with
them at the point of the check and at several other points. If the function accepts other shapes, it must also agree in
another shape. Then the whole check must pass with the edit. Of the edits that remain, fix prints the shortest. It also
prints the number of other edits that give the same values at all points that were tried. Those may still be different
formulas.

fix never adds a call of the checked function, because the edited derivative could then be a numeric derivative.

If the function accepts no other shape, fix does not propose a number that is equal to the length of an axis. Without a
second shape, it cannot find out whether this number is a constant or should change with the length.

fix may run the derivative thousands of times. A derivative that writes files or sends messages does so each time.

# Files

Without `--write`, no file is changed. With it, fix changes only the edited piece; comments, spaces and line ends stay.
If a file was changed in the meantime, or cannot be written, fix writes none of the files.

Save the diff to apply it later:

    gradcli fix grads.py:f --grad g --shape x=3 > f.patch
    git apply f.patch

`gradcli gradcheck --fix` adds the same edit to its report: the key `patch` in JSON, and `fixes` in SARIF, which some
editors and code hosts show as a suggestion.
""",
    "gradcheck": """
gradcheck compares a claimed derivative with a numeric one. The claimed derivative, or claim, is the derivative that is
checked. gradcheck computes the numeric derivative from values of the function, and estimates its error. You therefore
do not have to choose a step or a tolerance. The verdict is one of these:

    pass           the claim agrees with the numeric derivative
    fail           it does not agree; the report names the worst element and,
                   if gradcheck recognizes it, the mistake
    inconclusive   gradcheck could not decide; the report gives the reason
    error          the function or the claim raised an error, or the check
                   reached its time limit
    accepted       pyproject.toml accepts what the check found; see
                   gradcli-configuration(5)
    skipped        the file asked to be skipped, usually because a package is missing

An element is one number of an input, an output or a derivative. gradcli-verdict(7) explains how gradcheck reaches a
verdict, and which errors it can miss.

# Verdicts

Usually, a check passes if every element of the claim agrees with the numeric derivative. A difference is allowed if the
rounding of the claim and the error of the numeric derivative explain it, or if it is at most 1e-6 of the derivative.
gradcli-verdict(7) gives the exact limits, and explains the other tests that can decide, for example at a kink or if a
numeric derivative is hard to compute. If only the limit of 1e-6 allows the difference, a note says so. With `--strict`,
such a difference is a fail.

If a check passes, the report gives the resolution, such as 1e-9: an error above this number would have been detected.

- If the inputs have more than eight elements in total, the number is relative to the largest slope (the largest element
  of the derivative). A larger relative error of a small element can then pass.
- If the inputs have at most eight elements, or with `--show all`, the number is relative to each decidable element of
  the derivative: a larger relative error would have been detected there. If these elements differ much in size, the
  report gives a second number, for errors relative to the largest slope.
- At a kink, or if the derivative is zero, the report gives no resolution.

Usually, a check fails if an element of the claim differs from the numeric derivative by clearly more than the allowed
difference. The report names the worst element, with both values. If a known mistake explains all wrong elements of an
input, the report names it.

A check is inconclusive if gradcheck cannot decide. The reason may be noise, a jump, a value that is not finite, or an
element in which an error of 2 % could not be detected. But not every element matters. The effect of an input element is
its magnitude times the derivative with respect to it. For an element that is 0, a typical magnitude of the other
elements is used. An element whose effect is below 1/100 of the largest effect does not make a check inconclusive. An
element whose effect is below the rounding error of the output cannot be checked at all. The check can still pass, and a
note gives the number of such elements.

At a kink, the slopes on the two sides of the point differ. A claim passes there if it lies in the generalized gradient:
the set of all values that count as a derivative at the kink. If only one input element has a kink at the point, these
are the values between its two slopes. If several elements have kinks there, their claimed values together must lie in
this set; see gradcli-verdict(7). If the slopes are not known accurately enough, the check is inconclusive.

Some functions, such as `cholesky` and `eigh`, read only one triangle of a symmetric (or Hermitian) matrix, or accept
only symmetric matrices. If the matrix is symmetric, a claim for such a function passes if it is right for symmetric
changes of the matrix. The report says so. The random matrices that `--shape` draws are not symmetric. For such a
function, give a symmetric matrix instead, as in A='[[2, 1], [1, 3]]'.

A backward pass must be linear in the incoming gradient. To test this, gradcheck calls it with two vectors, with
their sum, with zeros, and with multiples of one vector: -1, 1024 and 1/1024 times the vector.

If the function is defined on only one side of the point, gradcheck uses the slope on that side. If the claim and the
numeric derivative differ only slightly, and this difference changes erratically from point to point, the function
probably contains a solver that stops at a tolerance. The check is then inconclusive. Input elements that are nan or
infinite are kept constant, and a note gives their number.

# Cost and limits

If the inputs have more than eight elements in total, gradcheck changes all of them together, along random directions.
For a smooth scalar function of n input elements, a check that passes usually calls the function 20 to 100 times. It
takes more than about 200 + 20 log2(n) calls only if the values are noisy, or if an element is wrong by less than 1e-6
of its size. A check that fails also searches for the wrong elements. It takes at most about 600 + 20 log2(n) calls, and
usually 100 to 600.

If there are at most eight elements, gradcheck checks each of them individually. With `--show all`, it always does so,
with about 15 calls for each element.

`--calls N` limits the number of calls; in `@gradcli.check`, write `calls=N`. Calls that a framework makes to compute
vector products (vjp, jvp) also count. If N calls show a clear disagreement, the check fails. If N calls are too few for
a verdict, the check is inconclusive, and the report suggests a larger N: 600 + 20 log2(n) if a wrong element is
suspected, otherwise 200 + 20 log2(n). In JSON, this number is `calls_needed`. Fewer calls are often enough.

`--timeout S` limits each check of a Python function to S seconds, and the import of a file to ten times S or 30
seconds, whichever is more.

Python functions are checked in a separate process, or in N processes with `-j N`. If a check crashes, exits or exceeds
`--timeout`, its verdict is error, and the remaining checks continue. There is one exception: if the file imports
PyTorch or JAX, the remaining checks continue only with `-j 2` or more. gradcheck terminates processes that a check
leaves behind.

# Element by element

`--elementwise` is for functions in which an element of the output depends only on the input elements at the same index,
and on inputs that are single numbers. Examples are ufuncs, activation functions, and a curve f(x, a, b) with two scalar
parameters a and b. In `@gradcli.check` and `gradcli.check_gradient`, write `elementwise=True`.

The function that `--grad` names then returns the derivative of each output element, in an array of the output's shape.
For several inputs, it returns one such array for each, as `fit_deriv` does in astropy. You do not have to build a
Jacobian with these derivatives on its diagonal. Each input must have the output's shape or be a single number. The
output may have up to 2000 elements. If the function does not work element by element, the check fails.

# Surrogate gradients and references

`--reference` compares the claim with the derivative of another function, computed in float64. Use it for surrogate
gradients, such as straight-through estimators, which replace the derivative on purpose.

With `--dtype bfloat16`, `float16` or `float32`, the checked function runs in that type. The reference runs twice: in
float64, to give the exact derivative, and in that type, to show how large the rounding errors of a right derivative
are. The check passes if the claim's error is not much larger than these rounding errors. gradcli-verdict(7)
gives the details.

# Monte-Carlo estimators

`--stochastic NAME` checks an estimator: a function whose result is random, and whose mean should be the gradient.
`--grad`, `--vjp` and `--jvp` compare a single result, which says little about a mean. NAME has one of three forms.
NAME(*inputs, rng, n) returns n samples of the gradient, in an array of shape (n, *shape of the input), or one such
array for each input. NAME(*inputs, rng) returns one sample. The argument rng is a `numpy.random.Generator`. If the file
uses PyTorch or JAX, it is a `torch.Generator` or a key. NAME(*inputs) returns one sample, too, and takes random numbers
from the global generators of NumPy, Python or PyTorch. gradcheck seeds them, so that a run can be repeated. In PyTorch
and JAX, NAME may also return a loss. The gradient of each loss that it returns is then a sample.

TARGET is the objective: the mean of the estimator should be its gradient. TARGET(*inputs) returns the exact value of
the objective. If you can only draw samples of this value, write TARGET(*inputs, rng, n), which returns n samples whose
mean is the value. The derivative then comes from differences of such samples, computed with the same random numbers.

The number of samples doubles until the verdict is clear, or until `--draws` is reached. The verdict is:

- pass if the mean agrees with the derivative, and a bias above the stated resolution would have been seen. The
  resolution is relative to the largest derivative with respect to the same input, and at most 10 %.
- fail if the mean differs from the derivative by more than chance explains. A right estimator fails with a probability
  of at most about `--level`. This is the probability for the whole check, with all elements and sample sizes.
- inconclusive if there are too few samples, or if the variance seems to be infinite.

If a check fails, the report says what the mean is instead, if gradcheck can tell. The mean may be zero, a multiple of
the derivative, or the gradient of a different function in the file. If one of these is true of some elements or inputs
only, the report says that, too. With the same `--seed`, a run gives the same numbers. `samples/estimators.py` has
examples. gradcli-verdict(7) describes the test.

In `@gradcli.check` and `gradcli.check_gradient`, write `stochastic=`, `level=` and `draws=`.

# Taylor remainders

`--taylor` also prints Taylor remainders |f(x + h d) - f(x) - h g.d|. Here d is a random direction and g is the claimed
gradient. There are eight steps h, each a quarter of the one before. This takes 16 calls, because gradcheck also uses
the steps -h to measure the noise.

If the gradient is right, the remainder is proportional to h^2 for small h. Otherwise it is proportional to h. The rate
in the report is the measured exponent. Steps at which rounding dominates do not count towards the rate. The verdict
does not depend on it.

# Frameworks and low precision

Functions that use PyTorch or JAX run in double precision if they accept it. Some functions compute in float16 or
bfloat16 internally (mixed precision). gradcheck then allows for the rounding of that type, and a note says so. The
two digits of bfloat16 are seldom enough for a pass, but a wrong factor still fails.

# Functions in servers and other programs

TARGET may be a function in a server or in another program. The program returns both values and derivatives, and
gradcheck compares these derivatives with numeric ones. A file can also declare such a check:
`gradcli.check("http://localhost:4242/forward", at={"x0": [1, 2]})`.

`http://HOST:PORT/MODEL` is a model with the protocol UM-Bridge 1.0. The model must support Gradient, ApplyJacobian or
both. Its inputs are vectors called x0, x1 and so on. Its outputs are called y0, y1 and so on. gradcheck concatenates
the outputs, unless `--out` selects one.

`http://HOST:PORT` is a Tesseract. It must have the endpoint vector_jacobian_product, the endpoint
jacobian_vector_product, or both. Its inputs keep their names; `model.w` is the field w of the input called model. For
both kinds of servers, the address may begin with http or https, and gradcheck does not follow redirects.

`cmd:COMMAND` is a program that answers requests in lines of JSON; see gradcli-protocol(7).

`MODEL.fmu` is a Functional Mock-up Unit (FMI 2.0). It needs the package fmpy: `pip install fmpy`, or the extra
gradcli[fmu]. The inputs of the function are the inputs and parameters of the unit, by name. Its outputs are the outputs
of the unit at the start time. The claim is the directional derivative that the unit provides. Inputs without a value
keep the value from the model.

# Shared libraries

`LIB.so:DECLARATION` is a function of a shared library. DECLARATION is the line that declares the function in a C
header. The derivative is another function of the same library, and `--grad`, `--vjp` or `--jvp` gives its declaration.
For example:

    gradcli gradcheck 'libk.so:double f(int n, const double *x)' \\
        --grad 'void f_b(int n, const double *x, double *xb)' --shape x=3

The types of the parameters have these meanings, and `float` works like `double`:

    const double *   an input
    double *         an output, filled with zeros before the call
    double           an input that is a single number
    int              the size of an array

gradcheck chooses the value of an int parameter by the parameter's name:

    m            the size of the output
    nx or n_x    the size of x
    other names  the first such parameter, often n, is the size of the first
                 array; each further one needs a value, such as k=3

A value that you give, such as n=3, replaces gradcheck's choice. If the size of the output does not follow from these
rules, write `--shape y=3`.

In the declaration of a derivative, the name of an array shows whose gradient it holds: x_b, xb, x_bar, dx and grad_x
hold the gradient of x. Output arrays with other names hold the remaining gradients, in the order of the inputs. There
must be exactly one such array for each remaining gradient. If the function returns an int, 0 means success. The library
runs in a separate process, so if it crashes, only this check is an error.

# Output for editors and CI

The summary, such as `3 passed, 1 failed in 2.50 s`, goes to standard error in every format; `-q` omits it. If you
interrupt gradcheck, it prints what it has found so far.

`-f html` writes a page with a row for each check. For a check that did not pass, the page shows all elements, heat
maps, and a plot of the function with the claimed and the numeric slope.

`-f concise` prints a line for each check that did not pass, in the form of compiler messages: `FILE:LINE:COLUMN: error:
TEXT [FINDING]`. For an inconclusive check, `warning` replaces `error`. If TARGET is an expression, the line begins with
the expression, so an editor cannot jump to it. Vim reads these lines with `:set
makeprg=gradcli\\ gradcheck\\ -f\\ concise`, and Emacs with `M-x compile`. VS Code needs a problem matcher in
tasks.json:

    {"owner": "gradcheck", "fileLocation": ["relative", "${workspaceFolder}"],
     "pattern": [{"regexp": "^(.+?):(\\\\d+):(\\\\d+): (error|warning): (.*) \\\\[[a-z-]+\\\\]$",
                  "file": 1, "line": 2, "column": 3, "severity": 4, "message": 5}]}

GitHub Actions needs the same matcher without fileLocation, inside `{"problemMatcher": [...]}`. Write it to a file, and
let the workflow run `echo "::add-matcher::FILE"`.

`-f gitlab -o gl-code-quality-report.json` writes a code quality report for GitLab. In .gitlab-ci.yml, give
its path under `artifacts: reports: codequality:`.

`pytest --gradcheck` runs the declared checks as tests. With `--gradcheck-allow-inconclusive`, inconclusive checks pass.

A file may need a package that is not always installed. It can then skip itself, as a test file does: with `raise
unittest.SkipTest("needs umap-learn 0.5.12")`, `pytest.skip` or `pytest.importorskip`. Its verdict is `skipped`. The
summary counts skipped files, and the exit code ignores them.

# Repairs

If a wrong derivative is written in Python, `--fix` also searches for a source edit that makes the check pass. The
report shows this edit as a unified diff; in JSON, it is the key `patch`, and in SARIF `fixes`. gradcli-fix(1) describes
the search. `gradcli fix --write` changes the file.

# Comparison with other checkers

PyTorch's gradcheck and JAX's check_grads run on the devices of these frameworks, and work together with their
transforms. They use central differences with a fixed step, and raise an error if a fixed tolerance is exceeded. The
checker of HIPS autograd works in the same way. The defaults are:

    PyTorch               step 1e-6, atol 1e-5, rtol 1e-3
    JAX, float64          step 1e-4, atol 1e-5, rtol 1e-5
    HIPS autograd         step 1e-6, atol 1e-6, rtol 1e-6

SciPy's check_grad uses forward differences. It returns the norm of the difference between the two gradients, and you
decide whether this norm is small enough.

gradcli's gradcheck also checks gradients in NumPy and in C. Its tolerance follows from an error estimate. It uses
one-sided derivatives at kinks, and names the probable mistake. `--symbolic` also compares with the formulas of SymPy,
and `--digits 50` with derivatives that are computed to 50 digits.

# Calculators of ASE

`ase:FILE.py:CALCULATOR STRUCTURE` checks a calculator of ASE. It needs the package ase: `pip install ase`, or the extra
gradcli[ase]. CALCULATOR is an object, a class, or a function that returns a calculator. STRUCTURE is a file that
`ase.io.read` reads, such as slab.xyz or POSCAR.

The function is the energy, and its input is `positions`. The claim is minus the forces. With `--stress`, `strain` is a
second input, in the order xx, yy, zz, yz, xz, xy. The claim for `strain` is the stress times the volume. Constraints
are not applied. If the calculator has a free energy, gradcheck uses that energy, because the forces are minus its
derivative.

In a symmetric structure, many forces are zero, even those of a wrong formula. gradcheck therefore first moves every
atom at random, by about 0.05 Å along each axis. `--seed` selects different random moves, and `--samples` checks
several. `positions=@FILE` gives the positions instead. """,
    "eval": """ In tab-separated lines and in CSV, the value is
always called `value`, and its elements are called `value[0,1]` and so on, even if the output has a name of its own.
""",
    "symbolic": """ # Generated code

`-f c`, `fortran`, `js`, `julia`, `matlab`, `python` and `rust` write the function `value_and_gradient`. The value comes
from the operations of TARGET, and the gradient from a backward pass, both in the forms that `gradcli eval` and
`gradcli grad` use: log1p(x) is accurate at 1e-17, and softplus(1000) does not overflow. The code needs only the
standard library of the language. Functions that the library lacks, such as digamma, are part of the code.

- C: `double value_and_gradient(double x, const double *w, double *d_x, double *d_w)`. Arrays are flat, in row-major
  order.
- Fortran 2008: the module `gradients` with a pure subroutine, whose last arguments are the value and the derivatives.
- Python, JavaScript (a module), Julia, MATLAB and Octave return the value and the derivatives. Arrays are nested lists
  in Python and JavaScript. Save MATLAB code in value_and_gradient.m.
- Rust: `value_and_gradient(x: f64, w: &[f64; 3]) -> (f64, f64, [f64; 3])`.

At a pole or outside its domain, the code returns an infinity or nan, as the engine does. Only sin, cos and tan of an
infinity raise an error in Python and Julia. Inputs are called by position, and names that the language reserves get an
underscore. Only the shapes of given values matter: all inputs stay variables. A choice that depends on values needs
`where`; sort and indices that depend on inputs cannot be written as code, nor can complex numbers, and functions such
as Bessel functions.
""",
    "sweep": """
# Rows

Each row is a separate point: a sum, a matrix product or a solver in TARGET works on the values of one row. gradcli
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
- d_NAME_error, with `--numeric`: the error of that derivative
- d2_NAME, with `--diag`: the second derivative with respect to NAME
- the columns of `--keep`

With `--out a,b`, the output a has the columns a, d_a_NAME and d2_a_NAME, followed by those of b. There is a derivative
with respect to each input that POINTS has a column for, unless `--wrt` selects other inputs. The derivative with
respect to a list is a list.

In text files, a cell contains a number or a list as in JSON. An empty cell means nan, as does null in Parquet. A .npy
file has to contain a structured array, whose fields are the columns. NA, as R writes it, is nan, and 1.5D+03, as
Fortran writes it, is a number. Numbers may have decimal commas in .tsv files, and in other text if `--delimiter` is
not a comma. A file cannot have both decimal commas and decimal points. If gradcli reads commas as decimal commas, a
note says so. The result always has decimal points.

# Interrupting and resuming

With `-o FILE`, a sweep that was interrupted or killed can be resumed: run the same command again. gradcli writes the
result in parts, each about a second of work, to the folder FILE.parts. When all parts are finished, it joins them and
removes the folder. If TARGET, POINTS or an option that affects the result has changed, the command reports an
error. `--restart` discards the old parts. If the sweep was already complete, the same command computes it again.

Interruptions, `-j` and `--dask` do not change the result. With `--shard`, you run N commands, each with its own FILE.
These files, joined in the order of K, contain the rows of the whole result.

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
inf. If the script or an optimizer used the gradient, the state is the one at its last use. Otherwise, it is the one
at the end of the script. A gradient that contains only rounding errors counts as zero.

In the following, the output is the tensor on which the script calls backward(), such as a loss. If the gradient of a
tensor is None, `why` follows the data from this tensor to the output, even through Python numbers and NumPy arrays. It
reports the line at which the data leaves the graph, in the script or in a module that the script imports.

If you give no NAME, `why` does not complain about gradients that are usually meant to be None or zero:

- It leaves out frozen parameters of modules.
- If the script has an optimizer, `why` leaves out a module's parameters that have no gradient and that no optimizer
  holds.
- A bias that is added just before a batch normalization layer has no effect, so its gradient is zero. `why` calls it
  ok.

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
# Training steps

A wrong gradient of a training step raises no error: the loss still falls. Typical mistakes are gradients of several
batches that are not divided by their number, batches of different sizes that all have the same weight, a missing
zero_grad(), and a loss scale that is not divided out. `watch --loss FILE.py:NAME` finds them.

NAME(model, batches) is a function that returns the loss that a whole optimizer step should reduce. `model` is the model
of the program, and `batches` is a list of the batches that the model has used since the step before. For example, this
is the mean over all tokens of a step that are not padding:

    def full_loss(model, batches):
        total = sum(cross_entropy(model(x), y, ignore_index=-100, reduction="sum") for x, y in batches)
        return total / sum((y != -100).sum() for x, y in batches)

NAME returns a number, or a dict of named terms that add up. It returns None for a step that it does not cover, for
example a step of another model. FILE may be the training script itself. The function must be defined before the
training begins. The program does not need to call it.

If the program uses a DataLoader, a batch is what the loader yields. A batch belongs to a step if at least one of its
tensors was passed to a module whose parameters the optimizer updates. Calls without a graph do not count, for example a
validation under torch.no_grad(). Without a loader, a batch consists of the arguments of one call of the model: a single
argument, a tuple, or a dict of named arguments.

In JAX, the optimizer's update is often inside a function that is compiled with jit. The batch then consists of the
arguments of this function. Otherwise, `watch` looks at the calls of jit and grad functions since the step before. If
the parameters are among the arguments of a call, its arguments form a batch. The parameters and the state of the
optimizer are always left out of the batch.

By default, `watch` checks steps 1, 2, 4, 8 and so on of each optimizer. If the program uses a DataLoader, `watch` also
checks the step that uses the last batch of epochs 1, 2, 4, 8 and so on. When the time for checks exceeds the time of
the program itself by 60 seconds, `watch` checks no further steps. `--steps` chooses other steps, without this time
limit. Between the checked steps, the program runs at its usual speed.

`watch` evaluates the declared loss in float64, and once more in the types that the program uses.
The difference shows how large the rounding errors are. The report says how small an error would have been detected:
about 1e-6 of the gradient in float32, and 1e-2 in bfloat16. Dropout and other random numbers are repeated, if they come
from the generators of PyTorch, Python or NumPy.

What an optimizer adds itself, such as momentum or weight_decay, is not part of the gradient. If the program clips the
gradient on purpose, pass the norm with `--clip`.

`watch --loss` works with gradient accumulation, autocast, GradScaler, checkpointing, torch.compile, several optimizers,
closures (LBFGS), DistributedDataParallel and FSDP on one machine, the Trainer of Hugging Face, Lightning, and in JAX
with optax, equinox and flax. If several processes train a model together, `batches` contains the batches of all
processes.

A check needs the memory for one float64 copy of the model, and for two copies of its gradients. It evaluates the loss
and its gradient twice. If the gradient is wrong, it evaluates them about twice more, and up to once more for each
batch.

# Special cases

A PyTorch function is checked with the memory layouts and the incoming gradients of the recorded call. If the program
only traces a PyTorch or JAX function (with jit, vmap, scan or torch.compile), no values can be recorded, so `watch`
checks it at random values of the recorded shapes. If the first derivative passed, `watch` checks a second derivative,
such as hess, against the first one. Otherwise, it checks the second derivative against the objective. A custom
objective of xgboost or lightgbm returns no value, only a first and a second derivative. `watch` cannot check
the first one, and checks the second one against it.

If every check of a derivative raises an error, or reaches the time limit of `--timeout` or `--check-time`, `watch`
reports the derivative as inconclusive.

# What changes for the program

A program can notice that it is watched:

- The environment variables `PYTHONPATH`, `GRADCLI_HOST` and `GRADCLI_WATCH` are set. Python loads gradcli's
  `sitecustomize` module, which then loads the program's own.
- The solvers of SciPy and train() of xgboost and lightgbm are wrapped. They receive callable objects instead of the
  user's functions.
- `torch.autograd.Function.apply`, the `__call__` methods of `jax.custom_vjp` and `jax.custom_jvp`, and the `primitive`
  decorator of HIPS autograd are wrapped.
- Arguments and results are copied. If a PyTorch function receives tensors with more than 100,000 elements in total,
  only its calls 1, 2, 4, 8 and so on are recorded, and `watch` checks the last recorded call instead of the last call.
- In PyTorch, the graph node of a custom function has an additional hook, which copies the incoming gradients.
- At its end, the process forks, and the child runs the checks. A process that uses JAX cannot fork safely, so it runs
  the checks itself.
- With `--loss`, `watch` also wraps `torch.nn.Module.__call__`, the iterators of DataLoader, `zero_grad`, the clipping
  functions and GradScaler, and adds hooks before optimizer steps. In JAX, it wraps jit, grad and the updates of optax.
  A step is checked in a fork while the program waits, or in the process itself if it uses CUDA or JAX.
- `os._exit` and the default handler of SIGTERM are replaced, so that the checks also run if one of them ends the
  process.

# What is not recorded

`watch` enters a Python process through `PYTHONPATH` and the module `sitecustomize`. Python ignores them with the
options `-I`, `-E` and `-S`, so run it without these options. In xgboost and lightgbm, `watch` does not see objectives
that are passed to the scikit-learn interface, such as XGBRegressor.
""",
    "ops": """
gradcli-expressions(7) lists all functions.
""",
    "schema": """
The schemas follow JSON Schema 2020-12. gradcli-json(5) describes the same documents in words. New versions may add
keys, but do not remove or rename any.
""",
}
FINDINGS = """
A report gives the name of each finding in square brackets. `gradcli help FINDING` explains a finding, with an example
and a fix. The findings are:
"""
FINDINGS_OF = {
    "watch": """
A report gives the name of each finding in square brackets. `gradcli help FINDING` explains a finding, with an example
and a fix. The findings on a derivative are those of gradcli-gradcheck(1). One of them occurs only in `watch`:
`changed-since` means that a function or derivative no longer returns what it returned during the run. With `--loss`,
the findings on a step are:
"""
}
"""The lead of a command's list of findings, if it is not the usual one."""
WHOLE = "FILE is written completely or not at all."
PROJECT = "gradcli-environment(7) describes how the default is chosen."
FORMULAS = "Whatever S is, gradcli spends at most 20 s on deriving formulas."
DIGITS = "Whatever S is, gradcli spends at most 20 s on computing in high precision."
BOTH = "Whatever S is, gradcli spends at most 20 s on deriving formulas, and 20 s on computing in high precision."
ANSWERS = "If the function runs in another program, S is instead the limit for each of its answers [60 s]."
SEED = (
    "In the expression language, rand and randn return the same numbers for the same seed. In Python files that use "
    "gradcli's engine, rand and randn are seeded only if N is above 0."
)
CHECK_SEED = f"The seed determines random inputs and directions. {SEED}"
OPTIONS = {
    "--hook": "If ACTION returns a value other than None, this value replaces the gradient. What ACTION prints goes to "
    "standard output, or with `--json` to standard error. Hooks run in the order in which they are given.",
    "--json": "With either option, errors are also printed as JSON, on standard output.",
    "--max-elements": "On Linux, an expression may use 2 GiB of memory, or proportionally more if N is above 1e8.",
    "--output": f"{WHOLE} Unless `-f` is given, a known extension such as .json selects the format.",
    "--python": PROJECT,
    "--seed": SEED,
    "--torch": "Scripts then use float32 by default, as in PyTorch; `--dtype` has no effect on them.",
}
SCRIPT_ONLY = {
    "--max-elements": "It has no effect on `why`.",
    "--safe": "This command always runs the script, so with this option it only prints an error.",
    "--seed": "",
}
OPTIONS_OF: dict[str, dict[str, str]] = {
    "fix": {
        "-e": "`fix` cannot edit an expression, so with this option it only prints an error.",
        "--safe": "`fix` always runs Python, so with this option it only prints an error.",
        "--seed": CHECK_SEED,
    },
    "grad": {"--timeout": f"{BOTH} {ANSWERS}"},
    "jacobian": {"--timeout": f"{FORMULAS} {ANSWERS}"},
    "hessian": {"--timeout": FORMULAS},
    "symbolic": {"--timeout": BOTH},
    **{name: {"--timeout": DIGITS} for name in ("eval", "precision")},
    **{name: {"--timeout": ANSWERS} for name in ("vjp", "jvp", "hvp")},
    **dict.fromkeys(("run", "why"), SCRIPT_ONLY),
    "lock": {"--timeout": "The limit applies to each check."},
    "gradcheck": {
        "--quiet": "This omits the summary, too.",
        "--seed": CHECK_SEED,
        "--timeout": f"The limit applies to each check. {BOTH} {ANSWERS}",
    },
    "schema": {"--output": WHOLE},
    "sweep": {"--output": WHOLE},
}
"""What the manual adds to the help of an option for some commands."""
ELEMENTS = "In `tsv`, each line has two columns: the name of an element, and its value in full precision."
WITH_ERROR = f"{ELEMENTS} With `--numeric`, a third column is the error of the value."
POINTS = "In `tsv`, each line describes one point, in these columns: the inputs,"
LINES = {
    **dict.fromkeys(("vjp", "hvp"), ELEMENTS),
    **dict.fromkeys(("grad", "jacobian", "hessian", "jvp"), WITH_ERROR),
    "eval": f"{ELEMENTS} With ranges, each line describes one point: the inputs, and the value of TARGET.",
    "plot": f"{POINTS} the function and its derivatives.",
    "precision": f"{POINTS} the number of right digits of the value and of each gradient.",
    "graph": "In `tsv`, each line describes one node, in these columns: number, kind, operation, name, formula, shape, "
    "inputs and line.",
    "trace": "In `tsv`, each line is an element of a gradient that a step sends: the numbers of the pass and of the "
    "step, the operation, its result, the receiving element, and the gradient.",
    "why": "In `tsv`, each line describes one gradient, in these columns: name, state, finding, file, line, "
    "explanation and remedy.",
    "gradcheck": "In `tsv`, each line is a check: verdict, name, file, line, seconds and reason. With `--show all`, "
    "lines that begin with `element` follow, one for each element. With `--taylor` or `--stochastic`, lines that "
    "begin with `taylor` or `bias` follow.",
    "fix": "In `diff`, the output is a unified diff. A summary is printed to standard error.",
    "watch": "In `tsv`, each line describes one derivative, in these columns: verdict, role, function, file, line, "
    "points, calls and reason. With `--loss`, each line describes steps with the same result: verdict, steps, "
    "optimizer, loss, file, line, batches, finding and reason.",
    "lock": "In `tsv`, each line describes one check, in these columns: name and file, or with `--verify` verdict, "
    "name, file and reason.",
    "mutate": "In `tsv`, each line describes one mutant, in these columns: killed or survived, relative "
    "error, seconds and name.",
    "ops": "In `tsv`, each line describes one function, in these columns: name, kind, derivatives and description.",
}
"""The contents of tab-separated lines, by command."""
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

A value on the command line replaces the value that the program assigns. `x = const(3)` does not make x an input. If
the program assigns to a name, or to one of its elements, a second time, this name is not an input either. `--wrt`
selects the inputs with respect to which gradcli differentiates.

If names have no value, an error lists them and suggests a command line that works.

# Limits

A program may have up to 1 MiB of text and 200 levels of nesting. `--max-elements` limits the number of elements of an
array. On Linux, a program may use 2 GiB of memory, or proportionally more if `--max-elements` is above its default. A
program may use 30 seconds of CPU time. With `--timeout S`, it may run for S seconds instead. gradcli-sweep(1) has no
time limit.
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

If a function has several results, select one by an index: `slogdet(x)[1]`. Functions of integers, such as gcd, accept
only the results of functions that return integers, such as argmax. The language has no strings. Arguments that take a
string, such as method, therefore keep their default, unless numbers may replace the strings. einsum works only in
Python files.
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
