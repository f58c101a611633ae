"""Run gradcli for tests, in a fork of a process that has already imported it or in a process of its own."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from . import fork_client, fork_server

ROOT = Path(__file__).parents[1]
SETTINGS = {
    **{"COLUMNS": "80", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "TERM": "xterm"},
    **{"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
    **{"PYTHONPATH": str(ROOT), "GRADCLI_PYTHON": sys.executable, "VIRTUAL_ENV": sys.prefix},
}
LEFT_OUT = re.compile(
    "CONDA_|MAKE|MFLAGS|FORCE_COLOR|CLICOLOR|GIT_|LANG|LINES|PYTEST_|PYTHON(IO|UNB|WARN|SAFE|DEV|UTF8|STARTUP)"
)
"""Prefixes of variables that would change the output of tested commands, or what git and pytest do in them."""
FUNCTION = 'gradcli() { "$GRADCLI_PYTHON" %s "$@" %s; }\n'
"""Defines `gradcli` as a function in bash."""
WORD = r"""(?:'[^']*'|"[^"$`\\\\!]*"|[\w./:=,+@%^\-\[\]])+"""
LINE = re.compile(rf"gradcli(?: +{WORD})*")
"""A line with one command, whose arguments bash passes on unchanged except for the quotes."""
LINES = re.compile(rf"{LINE.pattern}(?:(?:; |\n){LINE.pattern})*")
NEEDS_PROCESS = re.compile(r"\b(rmdir|ulimit|kill|trap)\b")
"""Commands in a line that affect gradcli only if it runs in a process of its own."""

SCRIPT = re.compile(r"\bpython (?=[\w/]+\.py\b)")


def run(words: list, cwd: Any = ROOT, **variables: str) -> subprocess.CompletedProcess:
    """Run a command in a folder with additional environment variables."""
    given = {"cwd": cwd, "env": environment(variables), "timeout": 300}
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, **given)


def environment(variables: dict[str, str]) -> dict[str, str]:
    usual = {**{name: x for name, x in os.environ.items() if not LEFT_OUT.match(name)}, **SETTINGS}
    return {**usual, fork_client.EXPECTED: fork_client.at_start(usual), **variables}


def gradcli(
    *words: object, cwd: Any = None, process: bool = False, frameworks: tuple[str, ...] = (), **variables: str
) -> subprocess.CompletedProcess:
    """Run gradcli in a fork, or in a process of its own if how it starts or ends matters.

    frameworks: packages that the forked process has already imported.
    """
    if process or not fork_server.can_take(variables):
        return run([sys.executable, "-m", "gradcli", *words], cwd, **variables)
    place = fork_server.place_of(environment({}), frameworks)
    return fork_server.call(place, [*map(str, words)], cwd, environment(variables))


def shell(
    line: str, cwd: Any = ROOT, pipe: str = "", frameworks: tuple[str, ...] = (), **variables: str
) -> subprocess.CompletedProcess:
    """Run a line of bash in which `gradcli` runs as by the function above, with its output passed through a pipe.

    frameworks: also `python FILE.py` runs in a fork that has imported them.
    """
    process = not fork_server.can_take(variables) or bool(NEEDS_PROCESS.search(line))
    if frameworks and not process:
        line = SCRIPT.sub(f"{python(*frameworks)} ", line)
    if LINES.fullmatch(line) and not (process or pipe):
        given = {"cwd": cwd, "frameworks": frameworks, **variables}
        runs = [gradcli(*shlex.split(one)[1:], **given) for one in LINE.findall(line)]
        texts = ("".join(done.stdout for done in runs), "".join(done.stderr for done in runs))
        return subprocess.CompletedProcess(line, runs[-1].returncode, *texts)
    place = "" if process else fork_server.place_of(environment({}), frameworks)
    command = f"-IS {fork_client.__file__} {place}" if place else "-m gradcli"
    return run(["bash", "-c", FUNCTION % (command, pipe) + line], cwd, **variables)


def python(*frameworks: str) -> str:
    """Return the path of a `python` that runs scripts in forks of a process that has imported frameworks."""
    place = fork_server.place_of(environment({}), frameworks)
    script = Path(place).with_name("python")
    if not script.exists():
        command = f'"{sys.executable}" -IS {fork_client.__file__} {place} {fork_client.PROGRAM}'
        script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        script.chmod(0o755)
    return str(script)


def compile_c(source: Any, library: Any, *words: str) -> Any:
    """Compile a shared library and return its path."""
    subprocess.run(["cc", *words, "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    return library
