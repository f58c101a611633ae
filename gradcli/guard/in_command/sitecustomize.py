# mypy: ignore-errors
"""Python in the user's command imports this first: it runs the user's own sitecustomize, then loads GRADCLI_HOST."""

import atexit
import importlib
import importlib.machinery
import importlib.util
import os
import sys


def at_end(finish):
    """Call a function at the end of the process and of each of its forks, however they end."""
    ended = set()

    def end_once():
        if os.getpid() not in ended:
            ended.add(os.getpid())
            finish()

    def end_and_leave(status, leave=os._exit):
        try:
            end_once()
        finally:
            leave(status)

    atexit.register(end_once)
    os._exit = end_and_leave  # forks end with it
    return end_once


here = os.path.dirname(os.path.abspath(__file__))
others = [place for place in sys.path if os.path.abspath(place or ".") != here]
spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
if spec is not None and spec.loader is not None:
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
if "GRADCLI_HOST" in os.environ:
    importlib.import_module(os.environ["GRADCLI_HOST"]).start(at_end)
sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != here]
