# mypy: ignore-errors
"""Runs inside the user's command: notes the derivatives that it uses, and checks them at its end.

It needs only the standard library and what the command itself has loaded. gradcli checks the notes in a fork if it can,
so that the command ends as usual. The folder's name contains "importlib" and "_bootstrap": Python's warnings skip the
frames of files with such a path, so a warning still names the line of the command.
"""

import atexit
import contextlib
import functools
import json
import os
import sys
import threading

from . import frameworks, jax_hooks, jax_training, processes, solvers, torch_hooks, training
from .ending import check_uses_at_end
from .notes import HERE, Watch

PATCHES = {}
EXECUTORS = "concurrent.futures.thread"


class PatchFinder:
    """Finds modules in PATCHES, and those with solvers, by the other finders, and patches them after loading."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        patch = PATCHES.get(name)
        if patch is None and Watch.current is not None:
            patch = solvers.patch_of_solvers(name)
        if patch is None:
            return None
        others = (finder for finder in sys.meta_path if finder is not PatchFinder and hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                with contextlib.suppress(Exception):
                    patch(module)

            spec.loader.exec_module = exec_module
        return spec


def start(at_end):
    """Begin to take notes. at_end(f): call f at the end of the process, and of its forks."""
    with open(os.environ["GRADCLI_WATCH"], encoding="utf-8") as file:
        settings = json.load(file)
    with contextlib.suppress(OSError), open(os.path.join(settings["folder"], "python"), "w"):
        pass  # the file shows that the command ran Python
    Watch.folder = settings["folder"]
    if settings["rules"]:
        start_watch(settings, at_end)
    if settings["loss"] is not None:
        start_training(settings, at_end)
    sys.meta_path.insert(0, PatchFinder)
    sys.excepthook = functools.partial(show_error, sys.excepthook)


def start_watch(settings, at_end):
    """Begin to note derivatives."""
    PATCHES.update({**frameworks.PATCHES, **processes.PATCHES})
    Watch.current = Watch(settings, before_frameworks_end)
    at_end(check_uses_at_end)
    processes.watch_forks()


def start_training(settings, at_end):
    """Begin to note steps of training."""
    PATCHES.update({**torch_hooks.PATCHES, **jax_hooks.PATCHES})
    training.Training.current = training.Training(settings)
    jax_training.JaxTraining.current = jax_training.JaxTraining(settings)
    at_end(write_summaries)
    os.register_at_fork(after_in_child=forget_steps)


def write_summaries():
    training.write_summary()
    jax_training.write_jax_summary()


def forget_steps():
    """Start a fork without the steps of its parent."""
    training.forget_training()
    jax_training.forget_jax_steps()


def before_frameworks_end():
    """Check the notes before the frameworks, imported by now, stop their threads and delete their operators."""
    processes.end_at_termination(check_uses_at_end)
    atexit.unregister(check_uses_at_end)
    atexit.register(check_uses_at_end)
    if EXECUTORS in sys.modules and not getattr(before_frameworks_end, "registered", False):
        before_frameworks_end.registered = True
        with contextlib.suppress(Exception):  # private: no public hook runs before executors end
            threading._register_atexit(check_before_executors_end)


def check_before_executors_end():
    """Check the notes now if a function may use an idle executor, unless another thread still runs."""
    workers = getattr(sys.modules[EXECUTORS], "_threads_queues", {})
    others = [thread for thread in threading.enumerate() if not thread.daemon and thread not in workers]
    if workers and len(others) == 1 and all(queue.empty() for queue in workers.values()):
        check_uses_at_end()


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
