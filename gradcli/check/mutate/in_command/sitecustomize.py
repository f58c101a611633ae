# mypy: ignore-errors
"""Found first by the Python of a user's command: puts the mutant in force, after the sitecustomize that was there."""

import importlib.machinery
import importlib.util
import os
import sys

import gradcli_mutant_host

here = os.path.dirname(os.path.abspath(__file__))
others = [place for place in sys.path if os.path.abspath(place or ".") != here]
spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
if spec is not None and spec.loader is not None:
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
gradcli_mutant_host.start()
