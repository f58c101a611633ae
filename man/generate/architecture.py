"""The page ARCHITECTURE.md: how the parts belong together, from the package's docstring, and where to change what."""

from __future__ import annotations

import re

import gradcli

HEAD = """# Architecture

<!-- Written by `make man` from the docstring of `gradcli/__init__.py` and from `man/generate/architecture.py`. -->

gradcli calculates gradients from the shell, shows how backward gets them, and judges derivatives, wherever they were
written. `CONTRIBUTING.md`, beside this page, lists the files that a new function, command, adapter or format touches.

## The way of the data

```
 gradcli gradcheck f.py:f --grad g x=2 -f json          the words of the command line
        |  cli: options, read once
        v
     Request                                            what was asked: one record
        |  program: opens the target
        v
  Program or Claim <------ lang, program/elsewhere      what can be run, and says what its derivative is
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

1. **The entry owns its function.** Value, derivative, names, PyTorch's signature and how it batches stand in one entry
   of the table (`gradcli/rules/table.py`); method, help, manual, stubs and tests follow from it.
2. **One node, one layout, one walk.** A node has parents, saved values and a rule, which turns a cotangent into those
   of the parents (`gradcli/tape/node.py`, `gradcli/tape/walk.py`).
3. **A mode is a recorder on a stack.** Nothing is patched from outside (`gradcli/tape/record.py`).
4. **Program is one interface** for whatever can be run (`gradcli/program/base.py`), and Claim for whatever says what
   its derivative is (`gradcli/program/claim.py`): ours, by hand, another framework's, a server's, a library's.
5. **Request is what was asked, once** (`gradcli/request.py`), handed whole to whoever reads a field of it.
6. **Everything checked is a real matrix.** One place knows names, shapes and complex numbers (`gradcli/check/flat.py`);
   beyond it there are rows and columns. A number called numeric was computed from values, never from the claim.
7. **Results are rows and a document** (`gradcli/show/results.py`): a format is one function for all of them.
"""
LAYERS = """
## The layers

A package imports from those above it in this table, never from below; `tests/test_layers.py` reads the imports. A
module is imported when a command needs it.

| package | what it holds |
|---|---|
"""
CHANGES = [
    ("what a function computes, or its derivative", "gradcli/rules/", "the module of its family; `gradcli ops NAME`"),
    ("the names and arguments that PyTorch has", "gradcli/api/signature.py", "and the entry's `torch=`"),
    ("how operations are recorded", "gradcli/tape/record.py", "the quick way: `gradcli/tape/operators.py`"),
    ("how backward walks", "gradcli/tape/walk.py", "`.backward()` itself: `gradcli/tape/backward.py`"),
    ("changes in place and views", "gradcli/tape/inplace.py", "versions: `gradcli/tape/memory.py`"),
    ("Jacobians, vmap, jvp", "gradcli/func/reverse.py", "`gradcli/func/mapping.py`, `gradcli/func/forward.py`"),
    ("sparse Jacobians", "gradcli/func/sparse.py", "patterns: `pattern=` of entries"),
    ("what the expression language takes", "gradcli/lang/parse.py", "what it means: `gradcli/lang/evaluate.py`"),
    ("limits on time, memory and size", "gradcli/lang/limits.py", ""),
    ("values and files behind NAME=", "gradcli/lang/values.py", "`gradcli/lang/files.py`, `gradcli/lang/tables.py`"),
    ("formulas, fifty digits", "gradcli/exact/symbolic.py", "`gradcli/exact/multiprecision.py`"),
    ("how a target is found and opened", "gradcli/program/target.py", ""),
    ("how the user's files are run", "gradcli/program/user_code.py", "scripts: `gradcli/program/script.py`"),
    ("an adapter of a framework or an address", "gradcli/program/elsewhere/", "the module of its name"),
    ("when a derivative passes or fails", "gradcli/check/verdict.py", "the stages: `gradcli/check/run.py`"),
    ("numeric derivatives, their error", "gradcli/check/estimate.py", "values: `gradcli/check/sampler.py`"),
    ("wrong elements among many", "gradcli/check/probe.py", "bisection: `gradcli/check/locate.py`"),
    ("kinks that elements share", "gradcli/check/kink.py", ""),
    ("the diagnosis of a mistake", "gradcli/check/diagnose.py", ""),
    ("the search for a bad point", "gradcli/check/search.py", "candidates: `gradcli/check/candidates.py`"),
    ("checks in processes, time-outs", "gradcli/check/workers.py", ""),
    ("sweeps over tables", "gradcli/analysis/sweep/", ""),
    ("a command", "gradcli/cli/commands/", "which module has it: `HOMES` in `gradcli/cli/main.py`"),
    ("an option", "gradcli/cli/option_table.py", "its field: `gradcli/request.py`"),
    ("messages, exit codes, carets", "gradcli/cli/messages.py", "the errors: `gradcli/errors.py`"),
    ("completion after TAB", "gradcli/cli/complete.py", ""),
    ("how a result is printed", "gradcli/show/__init__.py", "the formats, and which module writes each"),
    ("the JSON of a command", "gradcli/schema/", "`NAME.json` says it, `document` of the result gives it"),
    ("the manual, the stubs, this page", "man/generate/", "texts: `man/generate/texts.py`"),
    ("what is in the wheel", ".ci/build_hook.py", "metadata: `pyproject.toml`"),
    ("the table of how often the verdict is right", "tests/calibrate.py", "`make calibrate`"),
]
"""What somebody wants to change, the file or folder to open, and what else is near."""


def layers(text: str) -> list[str]:
    """Return the rows of the packages, from the list of them in the docstring."""
    items = re.findall(r"^    (\S.*?) {2,}(\S.*(?:\n {23}\S.*)*)", text, re.M)
    return [f"| `{name}` | {' '.join(what.split())} |" for name, what in items]


def parts(text: str) -> list[str]:
    """Return the paragraphs of the docstring that tell of a part, each below its name."""
    found = re.findall(r"^([A-Z][\w'-]*(?: [\w']+){0,2})\. (.*?)(?:\n\n|\Z)", text, re.M | re.S)
    return [f"### {name}\n\n{re.sub('<', '&lt;', body.strip())}\n" for name, body in found]


def architecture_page() -> str:
    text = gradcli.__doc__ or ""
    rows = [f"| {wish} | `{file}` | {more} |" for wish, file, more in CHANGES]
    return "\n".join(
        [
            HEAD + LAYERS + "\n".join(layers(text)),
            "\n## The parts\n",
            *parts(text),
            "## To change X, open Y\n",
            "| to change | open | near it |\n|---|---|---|",
            *rows,
            "",
        ]
    )
