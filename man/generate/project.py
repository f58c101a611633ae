"""The pages on what surrounds a call: gradcli-configuration(5), gradcli-environment(7) and gradcli-exit-codes(7)."""

from __future__ import annotations

from .mdoc import page, paragraphs, tag_list

CONFIGURATION = """
gradcli-gradcheck(1) takes defaults from the table `[tool.gradcli]` of a pyproject.toml: the nearest one that has this
table, in the folder of the first target or above it; without a target, in the current folder or above it. The command
line wins. A key that is not known is an error. Paths count from the folder of the file.

    [tool.gradcli]
    paths = ["src", "tests"]
    exclude = ["build", "*_old.py"]
    jobs = 4
    timeout = 120
    python = ".venv-gpu/bin/python"
    allow-inconclusive = true
    accept = ["src/losses.py:huber_grad kink"]
"""
KEYS = [
    ("Cm paths", "Files and folders that are checked where no TARGET is given."),
    (
        "Cm exclude",
        "Files and folders that are left out of folders: by name, or by path from the folder of the file. `*` stands "
        "for anything. A file that is named on the command line is checked all the same.",
    ),
    ("Cm jobs", "How many processes run checks, as `--jobs` says it."),
    ("Cm timeout", "Seconds for each check, as `--timeout` says it."),
    (
        "Cm python",
        "The Python, or the folder of its environment, that runs Python targets, as `--python` says it: for all "
        "commands, before VIRTUAL_ENV. See gradcli-environment(7).",
    ),
    ("Cm allow-inconclusive", "Whether the exit code is 0 where no check fails but some are inconclusive."),
    (
        "Cm accept",
        'Known findings, each as "FILE:NAME finding": the file, the name of the check, and the name of the finding, '
        'which is "fail" or "inconclusive" where there is none. A check all of whose findings are accepted is reported '
        "as accepted and does not fail; any other finding of the same check does. The pytest plugin accepts them, too.",
    ),
]
PYTHON = """
A Python target runs in the Python of the user's project, with the project's packages first. The first of these is
taken: `--python PATH`; `python` in gradcli-configuration(5); VIRTUAL_ENV; a folder .venv in the target's folder or in
one of its parents; CONDA_PREFIX; the Python that gradcli itself runs in. It has to be Python 3.11 or later. gradcli
brings what it needs, but for NumPy and SciPy, which it can lend only to a Python of its own version. Expressions need
none of this. `gradcli --version -v` prints which Pythons are used in the current folder.

gradcli-watch(1) and gradcli-mutate(1) look for the programs of their COMMAND next to that Python first, as in an
activated environment. The pytest plugin runs in the Python of pytest.
"""


def configuration_page() -> str:
    return page(
        "gradcli-configuration(5)",
        "settings of a project, in pyproject.toml",
        [*paragraphs(CONFIGURATION), *tag_list(KEYS)],
        ["gradcli gradcheck tests", "gradcli gradcheck tests --timeout 60"],
        ["gradcli-environment(7)", "gradcli-gradcheck(1)"],
        files=[("pyproject.toml", "Where the table is.")],
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
    more = """All exit codes are listed under EXIT STATUS. `gradcheck --exit-zero` exits with 0 whatever the
verdicts are, and `--bisect` with what git expects."""
    return page(
        "gradcli-exit-codes(7)",
        "what the exit codes of gradcli mean",
        paragraphs(more),
        ["gradcli gradcheck grads.py:f --grad g x=2"],
        ["gradcli(1)", "gradcli-gradcheck(1)"],
    )
