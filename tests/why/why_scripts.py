"""The scripts in why_cases.txt and why_tutorials.txt, and checks of what `gradcli why` reports about them."""

import json
import re
from pathlib import Path
from typing import NamedTuple

from ..command import gradcli

HERE = Path(__file__).parent
FRAMEWORKS = {"torch": "import torch as T\n", "--torch": "import torch as T\n", "gradcli": "import gradcli as T\n"}
REFUSED = {"float"}  # float() of a tensor that requires grad is an error of gradcli's own interface


class Case(NamedTuple):
    title: str
    tensor: str
    state: str
    wrong: str
    right: str
    torch_only: bool

    def __repr__(self) -> str:
        return self.title.replace(" ", "-")


def cases(engine: str) -> list[Case]:
    """Return the cases that can run on an engine."""
    found = []
    for part in (HERE / "why_cases.txt").read_text().split("\n=== ")[1:]:
        heading, wrong, right = re.split(r"\n--- (?:wrong|right)\n", part)
        title, tensor, state, *only = heading.split(" | ")
        found.append(Case(title, tensor, state, wrong, right, bool(only)))
    left_out = REFUSED if engine == "gradcli" else set()
    return [case for case in found if (engine == "torch" or not case.torch_only) and case.title not in left_out]


def tutorials() -> dict[str, str]:
    parts = (HERE / "why_tutorials.txt").read_text().split("\n=== ")[1:]
    return dict(part.split("\n", 1) for part in parts)


def explain(script: str, engine: str, folder: Path) -> tuple[list[dict], int]:
    """Return the gradients that `why` reports for a script, and its exit code."""
    (folder / "script.py").write_text(FRAMEWORKS[engine] + script)
    more = ["--torch"] if engine == "--torch" else []
    frameworks = ("torch",) if engine == "torch" else ()
    done = gradcli("why", "script.py", "--json", *more, cwd=folder, frameworks=frameworks)
    document = json.loads(done.stdout)
    assert "error" not in document, document["error"]["message"]
    return document["gradients"], done.returncode


def check_cause(case: Case, engine: str, folder: Path) -> None:
    """Check that `why` reports the state and the line of the cause."""
    items, code = explain(case.wrong, engine, folder)
    lines = (FRAMEWORKS[engine] + case.wrong).split("\n")
    expected = case.state, next(i for i, line in enumerate(lines, 1) if "# CAUSE" in line)
    of_tensor = [item for item in items if item["name"].startswith(case.tensor)]
    assert expected in [(item["state"], item["line"]) for item in of_tensor], of_tensor
    assert code == 1


def check_nothing(script: str, engine: str, folder: Path) -> None:
    """Check that `why` finds nothing in a correct script."""
    items, code = explain(script, engine, folder)
    assert items
    assert [item for item in items if item["state"] != "ok"] == []
    assert code == 0
