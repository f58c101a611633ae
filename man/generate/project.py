"""The pages gradcli-configuration(5), gradcli-environment(7) and gradcli-exit-codes(7)."""

from __future__ import annotations

from . import texts
from .mdoc import page, paragraphs, tag_list

CONFIGURATION = """
gradcli-gradcheck(1) takes defaults from the table `[tool.gradcli]` of a pyproject.toml. It looks for the nearest file
with this table, in the folder of the first target and in the folders above it. Without a target, it begins in the
current folder. Options on the command line take precedence. An unknown key is an error. Paths are relative to the
folder of the file.

    [tool.gradcli]
    paths = ["src", "tests"]
    exclude = ["build", "*_old.py"]
    jobs = 4
    timeout = 120
    python = ".venv-gpu/bin/python"
    allow-inconclusive = true
    strict = true
    accept = ["src/losses.py:huber_grad kink"]
"""
KEYS = [
    ("Cm paths", "Files and folders to check if no TARGET is given."),
    (
        "Cm exclude",
        "Files and folders to skip when a folder is searched. Write a name, or a path relative to the folder of this "
        "file. `*` matches anything. A file that is named on the command line is always checked.",
    ),
    ("Cm jobs", "The number of processes that run checks, as with `--jobs`."),
    ("Cm timeout", "The time limit for each check in seconds, as with `--timeout`."),
    (
        "Cm python",
        "The Python that runs Python targets, or the folder of its environment, as with `--python`. It applies to all "
        "commands and takes precedence over VIRTUAL_ENV. See gradcli-environment(7).",
    ),
    ("Cm allow-inconclusive", "If true, an inconclusive check does not change the exit code."),
    (
        "Cm strict",
        "If true, small differences fail, as with `--strict`. Otherwise, relative differences below 1e-6 pass.",
    ),
    (
        "Cm accept",
        'Known findings, each as "FILE:NAME finding": the file, the name of the check, and the name of the finding. '
        'If the report of a check names no finding, write "fail" or "inconclusive" instead. If all findings of a check '
        "are accepted, the check is reported as accepted and does not fail. If it has any other finding, its verdict "
        "does not change. The pytest plugin applies this setting, too.",
    ),
]
PYTHON = """
A Python target runs in the Python of your project, and your project's packages take precedence over gradcli's. gradcli
uses the first of these that exists:

    --python PATH
    python in gradcli-configuration(5)
    VIRTUAL_ENV
    a folder .venv in the target's folder or one of its parents
    CONDA_PREFIX
    the Python that gradcli itself runs in

This Python must be 3.11 or later. gradcli brings its own dependencies. NumPy and SciPy are an exception: if your
project uses Python 3.12 and gradcli itself runs in 3.13, for example, your project has to provide them. Expressions do
not need any of this. `gradcli --version -v` prints which Pythons are used in the current folder.

gradcli-watch(1) and gradcli-mutate(1) run their COMMAND as in an activated environment: they first look for its program
in the folder of that Python. The pytest plugin runs in the Python of pytest.

Unless OPENBLAS_THREAD_TIMEOUT is set, gradcli sets it to 20. Threads of NumPy's BLAS that wait for work then sleep
after 0.3 ms instead of 0.1 s, so that a short command uses less CPU. Results and the number of threads stay the same.
"""


def configuration_page() -> str:
    return page(
        "gradcli-configuration(5)",
        "settings of a project, in pyproject.toml",
        [*paragraphs(CONFIGURATION), *tag_list(KEYS)],
        ["gradcli gradcheck tests", "gradcli gradcheck tests --timeout 60"],
        ["gradcli-environment(7)", "gradcli-gradcheck(1)"],
        files=[("pyproject.toml", "The file with the table.")],
    )


def environment_page() -> str:
    return page(
        "gradcli-environment(7)",
        "environment variables, and which Python runs a target",
        paragraphs(PYTHON),
        ["gradcli --version -v"],
        ["gradcli(1)", "gradcli-configuration(5)"],
    )


def exit_codes_page() -> str:
    more = """The section EXIT STATUS below lists the exit codes. The page of each command gives their exact meaning for
this command. In gradcli-why(1) and gradcli-watch(1), some codes have a different meaning. `gradcheck --exit-zero` exits
with 0 whatever the verdicts are, and `gradcheck --bisect` exits with the codes that `git bisect run` expects."""
    return page(
        "gradcli-exit-codes(7)",
        "what the exit codes of gradcli mean",
        paragraphs(more),
        ["gradcli gradcheck grads.py:f --grad g x=2"],
        ["gradcli(1)", "gradcli-gradcheck(1)", "gradcli-watch(1)", "gradcli-why(1)"],
        status=texts.EXIT_STATUS,
    )
