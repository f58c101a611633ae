"""Helpers that run the command for these tests."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from ...command import gradcli
from .servers import Respond, serve


def run(*words: object, cwd: Any = None) -> tuple[int, dict[str, Any]]:
    done = gradcli(*words, "--json", cwd=cwd)
    return done.returncode, json.loads(done.stdout)


def gradcheck(*words: object, cwd: Any = None) -> tuple[int, dict[str, Any], str]:
    """Return exit code, JSON and standard error of `gradcli gradcheck`."""
    done = gradcli("gradcheck", *words, "--json", cwd=cwd)
    return done.returncode, json.loads(done.stdout), done.stderr


def judge(respond: Respond, *words: object, path: str = "/forward", **options: Any) -> tuple[list, dict[str, Any], Any]:
    """Check a model behind a server; return [exit code, *verdicts], the JSON document, and the server."""
    with serve(respond, **options) as server:
        code, found, _ = gradcheck(f"{server.url}{path}", *words)
    return [code, *verdicts(found)], found, server


def verdicts(found: dict[str, Any]) -> list[str]:
    return [check["verdict"] for check in found.get("checks", [])]


def message_of(found: dict[str, Any]) -> str:
    """Return the message of the error, or of the only check."""
    return (
        f"{found['error']['message']} {found['error']['hint']}" if "error" in found else found["checks"][0]["message"]
    )


MODEL = """import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    answer = {"support": {"Evaluate": True, "Gradient": True}}
    if request["method"] == "Evaluate":
        %s
        answer = {"output": [[sum(v**3 for v in request["input"][0])]]}
    elif request["method"] == "Gradient":
        answer = {"output": [3 * v**2 * request["sens"][0] for v in request["input"][0]]}
    print(json.dumps(answer), flush=True)
"""


def model(folder: Path, evaluate: str = "pass") -> str:
    """Return a target, a process that sums cubes; evaluate: a statement to run before it answers Evaluate."""
    path = folder / f"model{len(evaluate)}.py"
    path.write_text(MODEL % evaluate)
    return f"cmd:{shlex.quote(sys.executable)} {shlex.quote(str(path))}"
