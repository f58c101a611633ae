# mypy: ignore-errors
"""Runs inside the user's command: notes the derivatives that it uses, and checks them at its end.

It needs only the standard library and what the command itself has loaded. gradcli checks the notes in a fork, so that
the command ends as usual. The folder's name contains "importlib" and "_bootstrap": Python's warnings skip the frames of
files with such a path, so a warning still names the line of the command.
"""

import contextlib
import functools
import json
import os
import sys

from . import frameworks, solvers
from .notes import HERE, Watch, judge_all

PATCHES = {**solvers.PATCHES, **frameworks.PATCHES}


class Finder:
    """Finds the modules in PATCHES by the other finders, and patches them after loading."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in PATCHES:
            return None
        others = (finder for finder in sys.meta_path if finder is not Finder and hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                with contextlib.suppress(Exception):
                    PATCHES[name](module)

            spec.loader.exec_module = exec_module
        return spec


def start(at_end):
    """Begin to take notes. at_end(f): call f at the end of the process, and of its forks."""
    with open(os.environ["GRADCLI_WATCH"], encoding="utf-8") as file:
        settings = json.load(file)
    with contextlib.suppress(OSError), open(os.path.join(settings["folder"], "python"), "w"):
        pass  # the file shows that the command ran Python
    Watch.current = Watch(settings)
    sys.meta_path.insert(0, Finder)
    at_end(judge_all)
    os.register_at_fork(after_in_child=lambda: Watch.current is not None and Watch.current.derivatives.clear())
    sys.excepthook = functools.partial(show_error, sys.excepthook)


def show_error(shows, kind, error, trace):
    """Show an error that ends the command, without the frames of this folder."""
    with contextlib.suppress(Exception):
        frames, step = [], trace
        while step is not None:
            frames += [step] * (os.path.dirname(step.tb_frame.f_code.co_filename) != HERE)
            step = step.tb_next
        for step, following in zip(frames, [*frames[1:], None], strict=False):
            step.tb_next = following
        trace = frames[0] if frames else None
        error = error.with_traceback(trace)
    shows(kind, error, trace)
