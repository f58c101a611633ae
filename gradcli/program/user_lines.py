"""The user's own lines among those that are being executed."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from typing import Any

from ..errors import lines_of_file
from .user_code import PACKAGE

Place = tuple[str, int]
Chain = tuple[tuple[Place, str], ...]  # lines of the user's, the innermost first, with the functions they are in

_users: dict[str, bool] = {}
_libraries = tuple(place + os.sep for place in {PACKAGE, *(sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib"))})


def is_users(file: str) -> bool:
    """Return whether a file of code is the user's own: no library's, nor ours."""
    known = _users.get(file)
    if known is None:
        full = os.path.abspath(file)
        known = not (file.startswith("<") or full.startswith(_libraries) or "-packages" + os.sep in full)
        _users[file] = known
    return known


def is_users_object(x: Any) -> bool:
    module = sys.modules.get(type(x).__module__)
    return hasattr(x, "__dict__") and not isinstance(x, type) and is_users(getattr(module, "__file__", None) or "<")


def users_chain(most: int = 100) -> Chain:
    """Return the lines of the user's code that are being executed, at most so many."""
    frame: Any = sys._getframe(1)
    chain: list[tuple[Place, str]] = []
    while frame is not None and len(chain) < most:
        code = frame.f_code
        if is_users(code.co_filename):
            chain.append(((code.co_filename, frame.f_lineno), code.co_name))
        frame = frame.f_back
    return tuple(chain)


def users_place() -> Place | None:
    chain = users_chain(1)
    return chain[0][0] if chain else None


def caller() -> tuple[str, str]:
    """Return file and function of what called our observers: the first frame that neither gradcli nor Python has."""
    frame: Any = sys._getframe(1)
    while frame is not None and os.path.basename(frame.f_code.co_filename) in SEEN_THROUGH:
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_code.co_name) if frame is not None else ("", "")


SEEN_THROUGH = (
    "flow.py",
    "user_lines.py",
    "own_flow.py",
    "torch_flow.py",
    "modes.py",
    "tensor.py",
    "_tensor.py",
    "overrides.py",
)


def place_of_checkpoint() -> Place | None:
    """Return the user's line that called torch.utils.checkpoint, if that runs the present code."""
    frame: Any = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.endswith(CHECKPOINT):
        frame = frame.f_back
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


CHECKPOINT = os.path.join("torch", "utils", "checkpoint.py")


def name_at(place: Place | None) -> str:
    """Return what the `.grad` that a line reads belongs to, as the line says it."""
    line = "".join(lines_of_file(place[0])[place[1] - 1 : place[1]]) if place else ""
    found = re.search(r"([A-Za-z_][\w.]*(?:\[[\w'\"]*\])?(?:\.[\w.]+)?)\.grad\b(?!\()", line)
    return found[1] if found else ""
