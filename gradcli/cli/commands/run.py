"""gradcli run: a Python script, run and left alone."""

from __future__ import annotations

from ...errors import GradcliError
from ...program.target import load_script
from ..options import Call, target_command


@target_command(
    "Examples: gradcli run --torch tutorial.py; gradcli run train.py w=0.5",
    common="dtype seed safe torch color quiet verbose",
    metavar="SCRIPT.py [NAME=VALUE]...",
)
def run(call: Call) -> None:
    """Run SCRIPT.py as `python SCRIPT.py` would, and print nothing but what it prints.

    With --torch, PyTorch's modules in it mean gradcli's own engine, so that a tutorial runs without PyTorch.
    NAME=VALUE replaces the value of a leaf where the script makes it; the script's own arguments follow after --.
    """
    words = call.request.words
    stray = [word for word in words[1:] if "=" not in word]
    if not words or stray:
        raise GradcliError(
            f"'{stray[0]}' is no NAME=VALUE" if stray else "no script given",
            hint=f"for example: gradcli run {words[0] if words else 'train.py'} -- {' '.join(stray) or '--epochs 3'}",
        )
    load_script(call.target()).execute(call.values())
