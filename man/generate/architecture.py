"""ARCHITECTURE.md: the parts of the package, its layers (from its docstring), and which file to open for a change."""

from __future__ import annotations

import re

import gradcli

HEAD = """# Architecture

<!-- Written by `make man` from `man/generate/architecture.py` and the docstring of `gradcli/__init__.py`. -->

gradcli calculates gradients in the shell, shows how backpropagation computes them, and checks derivatives from any
source. `CONTRIBUTING.md` lists the files that you edit to add a function, command, adapter or format.

## The path of the data

```
 gradcli gradcheck f.py:f --grad g x=2 -f json          the command line
        |  cli: reads the options once
        v
     Request                                            all options in one record
        |  claims: opens the target
        v
  Program or Claim <------ lang, claims/adapters        a program to run; a function and its claimed derivative
        |
        +---- analysis ----> tape, func, exact          the recorded graph; transforms; symbols, high precision
        |                         |
        |                       rules                   for each function: value, derivative, names, domain
        |
        +---- check ------> numeric, explain            samples along lines, slopes, states; then a diagnosis
        |
        v
     Result                                             data: rows, and a document for JSON
        |  show: one function for each format
        v
  standard output
```

## Seven ideas

1. **An entry owns its function.** One entry of the table (`gradcli/rules/table.py`) has a function's value,
   derivative, names, PyTorch signature and batching rule. The method, help, manual, stubs and tests follow from the
   entry.
2. **One node, one layout, one walk.** A node of the graph has parents, saved values and a rule. The rule turns the
   cotangent of the node (the gradient that arrives there) into the cotangents of its parents (`gradcli/tape/node.py`,
   `gradcli/tape/backward.py`).
3. **A mode is a recorder on a stack** (`gradcli/tape/record.py`). No mode replaces functions of the engine at run
   time; `--torch` only gives its classes PyTorch's names. `gradcli watch` and `gradcli mutate` do replace
   functions, but only those of the user's program.
4. **Program and Claim are the two interfaces to code.** Everything that can run is a `Program`
   (`gradcli/program/base.py`). Everything that has a derivative to check is a `Claim` (`gradcli/claims/claim.py`),
   whether the derivative is gradcli's own, hand-written, or from a framework, a server or a library.
5. **Request records the options once** (`gradcli/request.py`). A function that needs an option gets the whole record.
6. **A check works on a real matrix.** Modules that estimate, probe, locate and judge work on rows and columns;
   `gradcli/numeric/flat.py` knows the names, shapes and complex numbers behind them. A number called numeric is
   computed from values of the function, never from the claim.
7. **A result is rows and a JSON document** (`gradcli/results/base.py`). Each text format is one function for all
   results.
"""
TOUR = """
## A tour of `gradcli gradcheck f.py:f --grad g x=3`

1. `main` (`gradcli/cli/main.py`) imports the module of the command, `gradcli/cli/commands/gradcheck.py`.
2. `target_command` (`gradcli/cli/options.py`) turns the options into a `Request` and the other words into a `Call`.
   It refuses options that exclude each other, and restarts the command in the Python of the project
   (`gradcli/user/project.py`).
3. `select_checks` (in the module of the command) turns `f.py:f` into a `Target` (`gradcli/program/target.py`; its
   words are read by `gradcli/user/address.py`).
4. `checks_of` (`gradcli/check/targets.py`) imports the file with its own folder in the search path
   (`gradcli/user/loading.py`), finds f and g, and returns a `Check` (`gradcli/check/check.py`).
5. `run_all` (`gradcli/check/workers.py`) runs the check in a process, with a time limit.
6. `Check.claim` returns the `Claim` to check. Here it is a `HandWritten` (`gradcli/claims/hand_written.py`).
7. `run_check` (`gradcli/check/claim_check.py`) turns the claim into a real matrix (`Flat`). It checks laws that every
   derivative obeys, such as linearity.
8. A `Probe` (`gradcli/numeric/probe.py`) compares the claim with numeric slopes: along random directions
   (`gradcli/numeric/directions.py`), or element by element if there are few elements. A `Sampler` calls f, and
   `estimate` computes slopes and their errors from the values. A `Locator` (`gradcli/numeric/locate.py`) would bisect
   a direction that disagrees.
9. `Entries` (`gradcli/numeric/verdict.py`) collects what is seen of each element. For x, the claimed derivative is 9
   and the numeric one is 6 ± 1e-12, and the integral of the claim does not follow f. The table in
   `gradcli/numeric/decide.py` makes that a fail.
10. `diagnose` (`gradcli/explain/diagnose.py`) looks for one mistake that explains all wrong elements, here a factor of
    3/2.
11. `input_check` (`gradcli/check/input_checks.py`) turns the states into the result for x. All of it becomes a
    `CheckReport` in a `CheckSummary` (`gradcli/results/checks.py`). Both contain only data.
12. `render` (`gradcli/results/formats.py`) selects the module of the format; on a terminal, this is
    `gradcli/show/table.py`. `Output` (`gradcli/cli/output.py`) writes the text. `exit_code`, in the module of the
    command, returns 1 because the check failed.
"""
GLOSSARY = """
## Glossary

| word | meaning |
|---|---|
| claim, claimed derivative | the derivative that is checked |
| cotangent | a vector with the shape of the output (the incoming gradient), which reverse mode pulls back |
| tangent | a vector with the shape of the inputs, which forward mode pushes forward |
| element | one number of an input or of a Jacobian |
| entry | one function of the table in `gradcli/rules/` |
| estimate, error | a numeric derivative, and the half-width of its interval of uncertainty |
| finding | the named cause of a result, such as `sign` or `factor`; `gradcli help findings` lists all findings |
| kink, jump, edge, staircase, noise | the kinds of behaviour of a function at a point where it is not smooth |
| leaf | a tensor that requires grad and that the user created directly, not by an operation |
| locate | find the wrong elements by bisection |
| negligible | the state of an element that is too small to matter |
| undecided | the state of an element for which the values do not allow a verdict |
| probe | compare the claim with the function along a random direction |
| resolution | the smallest error that the check would have detected |
| rule | a function that turns the cotangent of a result into the cotangents of its operands |
| target | the thing that a command works on: an expression, a script, `FILE.py:NAME`, or an address |
| ulp, rounding unit | the spacing of floating-point numbers |
"""
LAYERS = """
## The layers

A package imports only from packages above it in this table; `tests/test_layers.py` verifies this. A module is
imported only when a command needs it. There are two exceptions to the order. A table of modules, such as the formats
of `show`, may name any module. The package itself imports names of the Python interface when they are first used.

| package | contents |
|---|---|
"""
PARTS = {
    "The table": """
A new function needs one entry in `gradcli/rules/`, made by `elementwise`, `linear`, `general`, `constant` or
`composition` (`gradcli/rules/table.py`). `make man` writes the function into the manual.

The rules of an entry compute derivatives. The parameter names of a rule say what the node keeps for the backward
pass. `x` keeps the array, and `x_shape` keeps only its shape. `x_or_none` keeps the array, but becomes None if the
array is changed in place. `_` keeps nothing. You write a rule once. It runs on arrays, on Tensors (to record the
graph of the gradient), and on cotangents with extra leading axes. It therefore counts axes from the right.

The entry also has the exact form of the function (`exact`, or `twin`, written in the operands x, y, z), the operands
that an element depends on (`pattern`), and the size of the result (`size`). No other code knows functions by name.
""",
    "The tape": """
The page `man/site/pages/differentiation.md` lists the 600 lines to read first.

A node keeps arrays, its parents and its rule, but never Tensors, so there are no reference cycles. Each new node gets
the next number of a sequence. The backward pass always takes the newest node from a heap, adds
cotangents where paths meet, and frees nodes that are done. It does not need recursion.

Each in-place change gets a number from the same sequence. A saved array is stale if the last change of its memory is
newer than the node that saved it. Recording therefore does not need to check for changes.

A mode (observed, traced, packed, exact) is a recorder on a stack; each thread has its own stack
(`gradcli/tape/record.py`). An observer (`gradcli/tape/modes.py`) sees leaves, modules, calls and backward passes in
all threads. If there is no observer, this costs nothing.
""",
    "Transforms": """
A transform runs a function once, on its own inputs, and records it. Transforms can therefore be nested. Reverse
mode runs the backward pass with cotangents that have one more axis. Forward mode pushes tangents through the recorded
graph. `vmap` gives tensors a hidden leading axis.
""",
    "Programs": """
A target is what the command line names: an expression, a file, a function or an address. Each kind of target is a
subclass of `Program` (`gradcli/program/base.py`). It has a method `run`, and a method `as_function` if it may be
called on Tensors. `load_program` (`gradcli/claims/open.py`) selects the subclass. A `Target`
(`gradcli/program/target.py`) has a file, a name and a kind.
""",
    "Claims": """
A `Claim` (`gradcli/claims/claim.py`) evaluates a function and its claimed derivative. It pulls cotangents back
through the derivative, pushes tangents forward, or returns the whole matrix. A failed call always raises a
`CallError`. There are claims for:

- hand-written derivatives, and a small autograd engine of the user, such as micrograd
  (`gradcli/claims/hand_written.py`);
- functions that gradcli's engine records (`gradcli/claims/recorded.py`);
- formulas (`gradcli/claims/formula.py`);
- frameworks, servers, processes and libraries (`gradcli/claims/adapters/`, one module each).

`gradcli/claims/as_called.py` calls a custom function in the ways in which programs call it: with other memory
layouts, with short types, with unused outputs, and with a second backward pass.
`gradcli/claims/adapters/torch_calls.py` does so for PyTorch.
""",
    "The verdict": """
`gradcli/check/claim_check.py` runs the stages of a check:

1. `gradcli/numeric/flat.py` turns a claim into a real matrix, and `gradcli/numeric/rows.py` selects the rows to
   compare.
2. `gradcli/numeric/products.py` checks that vector products (vjp, jvp) are linear and fresh in every call;
   `gradcli/numeric/repeated.py` compares calls that must give the same.
3. `gradcli/numeric/sampler.py` evaluates the function along lines. Nearly all calls of the function are made here.
4. `gradcli/numeric/fit.py` fits the values on one interval, and `gradcli/numeric/estimate.py` combines the fits into
   slopes with errors.
5. `gradcli/numeric/directions.py` compares the claim with the slopes along random directions, and
   `gradcli/numeric/probe.py` chooses them.
6. `gradcli/numeric/locate.py` finds wrong elements by bisection.
7. `gradcli/numeric/compare.py` compares the claim with the slopes along a line. Where they do not agree, it integrates
   the claim (`gradcli/numeric/integral.py`), and looks for steps in the values (`gradcli/numeric/steps.py`).
8. `gradcli/numeric/nearby.py` checks a claim with kinks at a point next to them, and `gradcli/numeric/kink.py` tests
   values that meet at a kink. `gradcli/numeric/float32.py` recognises functions that compute in float32, and
   `gradcli/numeric/symmetric.py` those of symmetric matrices.
9. `gradcli/numeric/decide.py` has the table that turns what was seen into a verdict. No other code makes one.
10. `gradcli/check/input_checks.py` turns the states of elements into the result for each input, and
    `gradcli/check/reasons.py` says why a check is undecided.

A check of plain NumPy code imports neither the engine nor the table. With `--reference`, `gradcli/check/reference.py`
replaces stages 3 to 10. It compares the claim with the derivative of a reference function. With `--stochastic`,
`gradcli/check/stochastic.py` replaces them. It compares the mean of an estimator with the derivative of an expectation.
""",
    "The diagnosis": """
`gradcli/explain/diagnose.py` tries hypotheses about the mistake. A hypothesis computes the expected claim from the
true derivative, for example twice its value. An `InputBlock` (`gradcli/explain/block.py`) has the claimed and the
numeric derivatives with respect to one input at one point. `Evidence` (`gradcli/explain/evidence.py`) has those of
further points. A hypothesis must explain all wrong elements at all of these points: the corrected claim must pass.
`gradcli/explain/factors.py` fits missing factors and terms. `gradcli/explain/shortcuts.py` records the function with
gradcli's engine, and finds an operation whose derivative is left out or applied twice. Every finding has a name and a
page in `gradcli/results/causes.toml`. `gradcli/repair/` edits the source of the derivative until the check passes.
""",
    "Lost gradients": """
`gradcli why` runs a script under a recorder, which notes each operation and each backward pass. The recorder is in
`gradcli/why/recorder.py`, and for PyTorch and JAX in `record_torch.py` and `record_jax.py` of the same folder.
`gradcli/why/cause.py` searches the record for the reason why a gradient is None, zero or not finite, and
`gradcli/why/passes.py` for the node at which it became zero.
""",
    "Formats": """
`FORMATS` in `gradcli/results/formats.py` lists the formats, the file endings that select them, and the modules that
write them. For tsv, csv, json, npz and npy, there is one function each, which uses the `rows`, `json` or `arrays` of
a result. For tables, pages and pictures, there is one function for each type of result. A command lists its formats
in `formats=`.
""",
    "User code": """
`gradcli/user/project.py` selects the Python of the user's project and restarts the command in it. It also reads
`[tool.gradcli]` from pyproject.toml. A Python file runs with the modules of its own folder, which are unloaded
afterwards (`gradcli/user/loading.py`). On Linux, the operating system limits the memory of programs that do not
execute Python (`gradcli/lang/limits.py`).
""",
    "Start-up": """
A module is imported when one of its names is first used. The same is true of the families of functions in the table.
""",
    "Tests, bank and site": """
`tests/` has the same folders as the package, and so has `tests/cases/`, with command lines and their output.
`tests/bank/` is a bank of right and wrong gradients. `make bank CHECKER=...` runs a gradient checker on the bank, and
`tests/bank/checkers/` has an adapter for each checker. `man/generate/` writes the manual, the stubs and this page.
`man/site/` has the sources of the documentation site, and `tests/gallery.py` runs the commands on the pages of the
site.
""",
}
CHANGES = [
    ("what a function computes, or its derivative", "gradcli/rules/", "the module of its family; `gradcli ops NAME`"),
    ("names and arguments as in PyTorch", "gradcli/api/signature.py", "`torch=` of the entry"),
    ("how operations are recorded", "gradcli/tape/record.py", "the fast path: `gradcli/tape/operators.py`"),
    ("what a node sends to its parents", "gradcli/tape/send.py", "the rules: `gradcli/rules/`"),
    ("how the backward pass works", "gradcli/tape/backward.py", "hooks: `gradcli/tape/hooks.py`"),
    ("in-place changes and views", "gradcli/tape/inplace.py", "versions: `gradcli/tape/memory.py`"),
    ("Jacobians, vmap, jvp", "gradcli/func/reverse.py", "`gradcli/func/mapping.py`, `gradcli/func/forward.py`"),
    ("sparse Jacobians", "gradcli/func/sparse.py", "patterns: `pattern=` of entries"),
    ("the syntax of the expression language", "gradcli/lang/parse.py", "its meaning: `gradcli/lang/evaluate.py`"),
    ("limits on time, memory and size", "gradcli/lang/limits.py", ""),
    ("values and files after NAME=", "gradcli/lang/values.py", "`gradcli/lang/files.py`, `gradcli/lang/tables.py`"),
    ("formulas, high precision", "gradcli/exact/symbolic.py", "`gradcli/exact/multiprecision.py`"),
    ("generated code", "gradcli/code/special.py", "a language: its module in `gradcli/code/`"),
    ("how a target is opened", "gradcli/claims/open.py", "what its words name: `gradcli/user/address.py`"),
    ("which Python runs a target", "gradcli/user/project.py", "also the settings of the project"),
    ("how the user's files run", "gradcli/user/loading.py", "scripts: `gradcli/program/script.py`"),
    ("an adapter for a framework or an address", "gradcli/claims/adapters/", "the module with its name"),
    ("the stages of a check", "gradcli/check/claim_check.py", ""),
    ("when an element passes or fails", "gradcli/numeric/verdict.py", ""),
    ("numeric derivatives and their error", "gradcli/numeric/estimate.py", "values: `gradcli/numeric/sampler.py`"),
    ("which directions are compared", "gradcli/numeric/probe.py", "bisection: `gradcli/numeric/locate.py`"),
    ("kinks of several elements together", "gradcli/numeric/kink.py", ""),
    ("comparison with a reference", "gradcli/check/reference.py", ""),
    ("the check of an estimator", "gradcli/check/stochastic.py", "its test: `gradcli/check/sequential.py`"),
    ("what the mean of an estimator is", "gradcli/explain/mean.py", "KL divergences: `gradcli/explain/kl.py`"),
    ("the diagnosis of a mistake", "gradcli/explain/diagnose.py", "`factors.py` and `shortcuts.py` next to it"),
    ("the page of a finding", "gradcli/results/causes.toml", ""),
    ("the search for a failing point", "gradcli/check/search.py", "candidates: `gradcli/check/candidates.py`"),
    ("calls of custom functions by programs", "gradcli/claims/as_called.py", "PyTorch: `adapters/torch_calls.py`"),
    ("checks in processes, time limits", "gradcli/check/workers.py", ""),
    ("`gradcli watch`", "gradcli/guard/watch.py", "inside the command: `gradcli/guard/in_command/`"),
    ("`gradcli why`", "gradcli/why/cause.py", "the recorder: `gradcli/why/recorder.py`"),
    ("sweeps over tables", "gradcli/analysis/sweep/", ""),
    ("a command", "gradcli/cli/commands/", "its module: `COMMAND_HOMES` in `gradcli/cli/main.py`"),
    ("an option", "gradcli/cli/option_table.py", "its field: `gradcli/request.py`"),
    ("messages, exit codes, carets", "gradcli/cli/messages.py", "the errors: `gradcli/errors.py`"),
    ("completion after TAB", "gradcli/cli/complete.py", ""),
    ("how a result is printed", "gradcli/show/", "the formats, and the module of each: `gradcli/results/formats.py`"),
    ("the JSON of a command", "gradcli/schema/", "`NAME.json` describes the JSON of the result"),
    ("the manual, the stubs, this page", "man/generate/", "texts: `man/generate/texts.py`"),
    ("the documentation site", "man/site/", "`man/site/pages/`"),
    ("the contents of the wheel", ".ci/build_hook.py", "metadata: `pyproject.toml`"),
    ("the table that shows how often the verdict is right", "tests/calibrate.py", "`make calibrate`"),
    ("the bank of gradients", "tests/bank/", "`make bank`"),
]
"""A change, the file or folder to open, and related places."""


def layers(text: str) -> list[str]:
    """Return the rows of the packages, from the list of them in the docstring."""
    items = re.findall(r"^    (\S.*?) {2,}(\S.*(?:\n {23}\S.*)*)", text, re.M)
    return [f"| `{name}` | {' '.join(what.split())} |" for name, what in items]


def architecture_page() -> str:
    rows = [f"| {change} | `{file}` | {related} |" for change, file, related in CHANGES]
    return "\n".join(
        [
            HEAD + TOUR + LAYERS + "\n".join(layers(gradcli.__doc__ or "")),
            "\n## The parts\n",
            *(f"### {name}\n{text}" for name, text in PARTS.items()),
            "## To change X, open Y\n",
            "| to change | open | related |\n|---|---|---|",
            *rows,
            GLOSSARY,
        ]
    )
