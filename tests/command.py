"""The command as tests call it: in a fork of a process that has imported this package, or in a process of its own."""

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
LEFT_OUT = re.compile("CONDA_|FORCE_COLOR|CLICOLOR|GIT_|LANG|LINES|PYTEST_|PYTHON(IO|UNB|WARN|SAFE|DEV|UTF8|STARTUP)")
"""How variables begin that would change what the tests' commands print, and what git and pytest in them do."""
FUNCTION = 'gradcli() { "$GRADCLI_PYTHON" %s "$@" %s; }\n'
"""What makes `gradcli` a command of bash."""
WORD = r"""(?:'[^']*'|"[^"$`\\\\!]*"|[\w./:=,+@%^\-\[\]])+"""
LINE = re.compile(rf"gradcli(?: +{WORD})*")
"""A line that is one command, whose words bash hands on as they are but for the quotes."""
LINES = re.compile(rf"{LINE.pattern}(?:(?:; |\n){LINE.pattern})*")
NEEDS_PROCESS = re.compile(r"\b(rmdir|ulimit|kill|trap)\b")
"""What a line does to a command that only a process of its own feels."""


def run(words: list, cwd: Any = ROOT, **variables: str) -> subprocess.CompletedProcess:
    """Run a command in a folder, with variables of the environment."""
    given = {"cwd": cwd, "env": environment(variables), "timeout": 300}
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, **given)


def environment(variables: dict[str, str]) -> dict[str, str]:
    usual = {**{name: x for name, x in os.environ.items() if not LEFT_OUT.match(name)}, **SETTINGS}
    return {**usual, fork_client.EXPECTED: fork_client.at_start(usual), **variables}


def gradcli(
    *words: object, cwd: Any = None, process: bool = False, frameworks: tuple[str, ...] = (), **variables: str
) -> subprocess.CompletedProcess:
    """Run gradcli: in a fork, or where its start or its end matters in a process of its own.

    frameworks: what the process that is forked has imported too.
    """
    if process or not fork_server.can_take(variables):
        return run([sys.executable, "-m", "gradcli", *words], cwd, **variables)
    place = fork_server.place_of(environment({}), frameworks)
    return fork_server.call(place, [*map(str, words)], cwd, environment(variables))


def shell(
    line: str, cwd: Any = ROOT, pipe: str = "", frameworks: tuple[str, ...] = (), **variables: str
) -> subprocess.CompletedProcess:
    """Run a line of bash in which `gradcli` is a command, run as by the function above, with a pipe behind it."""
    process = not fork_server.can_take(variables) or bool(NEEDS_PROCESS.search(line))
    if LINES.fullmatch(line) and not (process or pipe):
        given = {"cwd": cwd, "frameworks": frameworks, **variables}
        runs = [gradcli(*shlex.split(one)[1:], **given) for one in LINE.findall(line)]
        texts = ("".join(done.stdout for done in runs), "".join(done.stderr for done in runs))
        return subprocess.CompletedProcess(line, runs[-1].returncode, *texts)
    place = "" if process else fork_server.place_of(environment({}), frameworks)
    command = f"-IS {fork_client.__file__} {place}" if place else "-m gradcli"
    return run(["bash", "-c", FUNCTION % (command, pipe) + line], cwd, **variables)


def compile_c(source: Any, library: Any, *words: str) -> Any:
    """Compile a shared library, and return it."""
    subprocess.run(["cc", *words, "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    return library
