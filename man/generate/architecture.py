"""ARCHITECTURE.md: the parts of the package, their layers from its docstring, and which file to open for a change."""

from __future__ import annotations

import re

import gradcli

HEAD = """# Architecture

<!-- Written by `make man` from `man/generate/architecture.py` and the docstring of `gradcli/__init__.py`. -->

gradcli calculates gradients in the shell, shows how backward computes them, and checks derivatives from any source.
`CONTRIBUTING.md` lists the files that a new function, command, adapter or format touches.

## The path of the data

```
 gradcli gradcheck f.py:f --grad g x=2 -f json          the words of the command line
        |  cli: reads the options once
        v
     Request                                            one record of the options
        |  program: opens the target
        v
  Program or Claim <------ lang, program/elsewhere      something to run, and the derivative that it claims
        |
        +---- analysis ----> tape, func, exact          the recorded graph; transforms; symbols and digits
        |                         |
        |                       rules                   each function: value, derivative, names, domain
        |
        +---- check ------> values of the function      samples along lines, noise, verdict, diagnosis
        |
        v
     Result                                             data: rows and a document
        |  show: one function for each format
        v
  standard output
```

## Seven ideas

1. **An entry owns its function.** One entry of the table (`gradcli/rules/table.py`) has the value, the derivative, the
   names, PyTorch's signature and the batching rule. Method, help, manual, stubs and tests follow from it.
2. **One node, one layout, one walk.** A node has parents, saved values and a rule. The rule turns a cotangent into the
   cotangents of the parents (`gradcli/tape/node.py`, `gradcli/tape/backward.py`).
3. **A mode is a recorder on a stack.** Nothing is patched from outside (`gradcli/tape/record.py`).
4. **Program is the one interface** of everything that can run (`gradcli/program/base.py`). Claim is the one interface
   of everything with a claimed derivative (`gradcli/program/claim.py`): gradcli's own, one written by hand, or one
   from another framework, a server or a library.
5. **Request records the options once** (`gradcli/request.py`). Functions that read a field get the whole record.
6. **A check works on a real matrix.** Only `gradcli/check/flat.py` knows names, shapes and complex numbers; all other
   modules see rows and columns. A number called numeric is computed from values, never from the claim.
7. **Results are rows and a document** (`gradcli/show/results.py`). A format is one function for all results.
"""
TOUR = """
## A tour of `gradcli gradcheck f.py:f --grad g x=3`

1. `main` (`gradcli/cli/main.py`) imports the module of the command, `gradcli/cli/commands/gradcheck.py`.
2. `target_command` (`gradcli/cli/options.py`) makes a `Request` of the options and a `Call` of the words. It refuses
   options that do not go together, and moves to the Python of the project (`gradcli/program/project.py`).
3. `select_checks` (in the module of the command) makes a `Target` of `f.py:f` (`gradcli/program/target.py`).
4. `checks_of` (`gradcli/check/targets.py`) imports the file with its own folder in the search path
   (`gradcli/program/user_code.py`), finds f and g, and returns a `Check` (`gradcli/check/check.py`).
5. `run_all` (`gradcli/check/workers.py`) runs it in a process, under a time limit.
6. `Check.claim` returns what is checked: here `HandWritten`, a `Claim` (`gradcli/program/hand_written.py`).
7. `run_check` (`gradcli/check/judge.py`) makes real rows and columns of it (`Flat`), and looks for broken laws.
8. A `Locator` (`gradcli/check/locate.py`, `gradcli/check/probe.py`) compares claim and values along directions, or
   element by element if there are few. A `Sampler` calls f, `estimate` makes slopes with errors of the values.
9. `Judgement` (`gradcli/check/verdict.py`) decides: x is claimed 9, and is 6 ± 1e-12, so it is wrong.
10. `diagnose` (`gradcli/check/diagnose.py`) looks for a cause that explains all wrong elements: a factor of 3/2.
11. All of that is a `CheckReport` in a `CheckSummary` (`gradcli/show/check_results.py`), as data.
12. `render` (`gradcli/show/__init__.py`) finds the format, here `gradcli/show/table.py` on a terminal; `Output`
    (`gradcli/cli/output.py`) writes the text. `exit_code`, beside the command, makes 1 of the fail.
"""
GLOSSARY = """
## Glossary

| word | meaning |
|---|---|
| claim, claimed derivative | what is checked |
| cotangent, tangent | a vector for the output (reverse mode), a vector for the inputs (forward mode) |
| element, entry | a number of an input, or of a Jacobian; an entry of the table is a function |
| estimate, error | a numeric derivative, and the half-width of its interval |
| finding | a named cause, such as `sign` or `factor`; `gradcli help rules` lists them |
| kink, jump, edge, staircase, noise | what a function does at a point if it is not smooth there |
| leaf | a tensor that the user made, and that requires grad |
| locate | find the wrong elements by bisection |
| negligible, undecided | too small to matter, or not to be decided: states of an element |
| probe | compare along a random direction |
| resolution | the smallest error that would have been seen |
| rule | what turns a cotangent of a result into cotangents of its operands |
| target | what a command works on: an expression, a script, `FILE.py:NAME`, or an address |
| ulp, rounding unit | the spacing of floating-point numbers |
"""
LAYERS = """
## The layers

A package imports only from packages above it in this table; `tests/test_layers.py` verifies this. A module is imported
when a command needs it.

| package | contents |
|---|---|
"""
PARTS = {
    "The table": """
A new function needs one entry in `gradcli/rules/`, made by `elementwise`, `linear`, `general`, `constant` or
`composition` (`gradcli/rules/table.py`). `make man` writes it into the manual.

The parameter names of a rule say what is kept for backward: `x` the array, `x_shape` its shape, `x_or_none` the array
unless it was changed in place since, `_` nothing. A rule runs on arrays, on Tensors (for the graph of the gradient) and
on cotangents with extra leading axes. It is written once, and counts axes from the right.

The entry also has its exact form (`exact`, or `twin` in operands x, y, z), the operands that an element depends on
(`pattern`), and the size of the result (`size`). No other code knows functions by name.
""",
    "The tape": """
A node keeps raw arrays, its parents and its rule, but never Tensors, so there are no reference cycles. Nodes are
numbered as they are made. Backward takes the newest node from a heap, adds cotangents where paths meet, and frees
nodes as it goes, without recursion.

In-place changes draw numbers from the same sequence. A saved array is stale exactly if the last change of its memory is
newer than the node, so recording does not pay for the check.

A mode (observed, traced, packed, exact) is a recorder on a stack per thread (`gradcli/tape/record.py`). An observer
(`gradcli/tape/modes.py`) sees leaves, modules, calls and backward in every thread, and costs nothing if there is none.
""",
    "Transforms": """
A transform records a function once, on its own inputs, so transforms nest. Reverse mode runs backward with cotangents
that have one more axis. Forward mode pushes tangents through the recorded graph. `vmap` gives tensors a hidden leading
axis.
""",
    "Programs": """
Each kind of target is a subclass of `Program` (`gradcli/program/base.py`) with `run`, and with `as_function` if it may
be called on Tensors. `load_program` (`gradcli/program/target.py`) selects it, and a `Target` has file, name and kind.
""",
    "Claims": """
A `Claim` (`gradcli/program/claim.py`) evaluates a function and has its claimed derivative: it pulls cotangents, pushes
tangents, or returns the whole matrix. A failed call is always a `CallError`. The adapters are:

- derivatives written by hand, and by a small engine of the user's own, such as micrograd
  (`gradcli/program/hand_written.py`);
- functions that gradcli's engine records (`gradcli/program/recorded.py`);
- formulas (`gradcli/program/formula.py`);
- frameworks, servers, processes and libraries (`gradcli/program/elsewhere/`), one module each.

`gradcli/program/as_called.py` calls a rule the way programs do: with other layouts, unused outputs and a second
backward. `gradcli/program/elsewhere/torch_calls.py` does so for PyTorch.
""",
    "The verdict": """
`gradcli/check/judge.py` leads a check through these stages:

1. `gradcli/check/flat.py` makes real rows and columns of a claim, and `gradcli/check/rows.py` the rows to compare.
2. `gradcli/check/products.py` requires that products are linear and the same in every call.
3. `gradcli/check/sampler.py` evaluates the function along lines. No other module calls it.
4. `gradcli/check/fit.py` fits the values on one interval, and `gradcli/check/estimate.py` combines fits into slopes
   with errors.
5. `gradcli/check/probe.py` compares claim and function along random directions.
6. `gradcli/check/locate.py` finds wrong elements by bisection.
7. `gradcli/check/verdict.py` decides each element.
8. Modules for other causes of a mismatch: `gradcli/check/kink.py`, `gradcli/check/tolerance.py` and
   `gradcli/check/symmetric.py`.

Code in plain NumPy needs neither the engine nor the table. With `--reference`, `gradcli/check/reference.py` replaces
stages 3 to 8: it compares the claim with the derivative of another function.
""",
    "The diagnosis": """
`gradcli/check/diagnose.py` tries hypotheses: what is claimed, as a function of the true derivative. A `Case`
(`gradcli/check/case.py`) is the block of one input, claimed and numeric, at the checked point and at others. A
hypothesis must explain all wrong elements at all of these points. `gradcli/check/factors.py` fits missing factors and
terms. `gradcli/check/shortcuts.py` records the function with gradcli's engine and finds the operation that backward
leaves out or applies twice. Findings have names, with a page each in `gradcli/show/causes.toml`.
""",
    "Lost gradients": """
`gradcli why` runs a script under a recorder (`gradcli/program/flow.py`, for PyTorch
`gradcli/program/elsewhere/torch_flow.py`), which notes each operation and each backward pass.
`gradcli/analysis/why.py` reads the cause from this record: why a gradient is None, zero or not finite.
""",
    "Formats": """
`FORMATS` in `gradcli/show/__init__.py` lists the formats, the file names that select them, and the module that writes
each. tsv, csv, json, npz and npy have one function each, which uses the `rows`, `document` and `arrays` of a result.
Tables, pages and pictures have one function for each type of result. A command lists its `formats=`.
""",
    "User code": """
`gradcli/program/project.py` selects the Python of the user's project and restarts the command in it. It also reads
`[tool.gradcli]` from pyproject.toml. A Python file runs with the modules of its own
folder, which are unloaded afterwards (`gradcli/program/user_code.py`). If a program does not execute Python, the
operating system limits its memory (`gradcli/lang/limits.py`).
""",
    "Start-up": """
Modules are imported when their names are first used, and so are the families of the table.
""",
    "Tests, bank and site": """
`tests/` mirrors the package, and `tests/cases/` has command lines with their output. `tests/bank/` is a bank of right
and wrong gradients on which any checker runs (`make bank CHECKER=...`); `tests/bank/checkers/` has one adapter for each
checker. `man/generate/` writes the manual, the stubs and this page. `man/site/` has the sources of the documentation
site, and `tests/gallery.py` runs the commands on its pages.
""",
}
CHANGES = [
    ("what a function computes, or its derivative", "gradcli/rules/", "the module of its family; `gradcli ops NAME`"),
    ("the names and arguments that PyTorch has", "gradcli/api/signature.py", "`torch=` of the entry"),
    ("how operations are recorded", "gradcli/tape/record.py", "the fast path: `gradcli/tape/operators.py`"),
    ("how backward walks", "gradcli/tape/backward.py", "hooks: `gradcli/tape/hooks.py`"),
    ("in-place changes and views", "gradcli/tape/inplace.py", "versions: `gradcli/tape/memory.py`"),
    ("Jacobians, vmap, jvp", "gradcli/func/reverse.py", "`gradcli/func/mapping.py`, `gradcli/func/forward.py`"),
    ("sparse Jacobians", "gradcli/func/sparse.py", "patterns: `pattern=` of entries"),
    ("the syntax of the expression language", "gradcli/lang/parse.py", "its meaning: `gradcli/lang/evaluate.py`"),
    ("limits on time, memory and size", "gradcli/lang/limits.py", ""),
    ("values and files after NAME=", "gradcli/lang/values.py", "`gradcli/lang/files.py`, `gradcli/lang/tables.py`"),
    ("formulas, many digits", "gradcli/exact/symbolic.py", "`gradcli/exact/multiprecision.py`"),
    ("how a target is found and opened", "gradcli/program/target.py", ""),
    ("which Python runs a target", "gradcli/program/project.py", "also the settings of the project"),
    ("how the user's files run", "gradcli/program/user_code.py", "scripts: `gradcli/program/script.py`"),
    ("an adapter of a framework or an address", "gradcli/program/elsewhere/", "the module of its name"),
    ("the stages of a check", "gradcli/check/judge.py", ""),
    ("when an element passes or fails", "gradcli/check/verdict.py", ""),
    ("numeric derivatives and their error", "gradcli/check/estimate.py", "values: `gradcli/check/sampler.py`"),
    ("wrong elements among many", "gradcli/check/probe.py", "bisection: `gradcli/check/locate.py`"),
    ("kinks that elements share", "gradcli/check/kink.py", ""),
    ("comparison with a reference", "gradcli/check/reference.py", ""),
    ("the diagnosis of a mistake", "gradcli/check/diagnose.py", "`factors.py` and `shortcuts.py` next to it"),
    ("the page of a finding", "gradcli/show/causes.toml", ""),
    ("the search for a failing point", "gradcli/check/search.py", "candidates: `gradcli/check/candidates.py`"),
    ("calls of rules as programs make them", "gradcli/program/as_called.py", "PyTorch: `elsewhere/torch_calls.py`"),
    ("checks in processes, time limits", "gradcli/check/workers.py", ""),
    ("`gradcli watch`", "gradcli/check/watch.py", "inside the command: `gradcli/check/in_command/`"),
    ("`gradcli why`", "gradcli/analysis/why.py", "the recorder: `gradcli/program/flow.py`"),
    ("sweeps over tables", "gradcli/analysis/sweep/", ""),
    ("a command", "gradcli/cli/commands/", "its module: `HOMES` in `gradcli/cli/main.py`"),
    ("an option", "gradcli/cli/option_table.py", "its field: `gradcli/request.py`"),
    ("messages, exit codes, carets", "gradcli/cli/messages.py", "the errors: `gradcli/errors.py`"),
    ("completion after TAB", "gradcli/cli/complete.py", ""),
    ("how a result is printed", "gradcli/show/__init__.py", "the formats, and the module of each"),
    ("the JSON of a command", "gradcli/schema/", "`NAME.json` describes the `document` of the result"),
    ("the manual, the stubs, this page", "man/generate/", "texts: `man/generate/texts.py`"),
    ("the documentation site", "man/site/", "`man/site/pages/`"),
    ("the contents of the wheel", ".ci/build_hook.py", "metadata: `pyproject.toml`"),
    ("the table of how often the verdict is right", "tests/calibrate.py", "`make calibrate`"),
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
