# mypy: ignore-errors
"""Has a step checked while the program waits: in a fork, which cannot change the program, or in this process.

Threads of CUDA and JAX do not survive a fork. There, the random numbers and the gradients are restored afterwards.
"""

import contextlib
import io
import json
import os
import pickle
import select
import signal
import sys
import threading
import time
import traceback
import types
import warnings

from . import batches, torch_state
from .ending import load_gradcli
from .notes import HERE, Watch
from .torch_state import inside_autocast, place_among_processes, random_state, set_random_state

NO_BACKWARD = b"no backward"


class Moment:
    """A step whose gradient is checked: what the program did since the step before, and where it is.

    undo: functions that restore what a check in the program's own process has changed.
    """

    def __init__(self, training, optimizer, progress, calls):
        self.training, self.optimizer, self.progress, self.calls = training, optimizer, progress, calls
        self.step, self.turn = progress.steps, progress.turn
        self.file, self.line = place_of_caller()
        self.seconds = time.monotonic() - (training.step_begun or time.monotonic())
        self.threads = sys.modules["torch"].get_num_threads()
        self.in_process, self.undo = False, []
        self.autocast = inside_autocast()
        self.rank, self.world = place_among_processes()

    def stopped(self, reason):
        """Return a key and the facts about a step whose check has not ended, as a plain tuple."""
        progress = self.progress
        facts = (reason, self.file, self.line, self.step, self.turn, progress.title, progress.number)
        return ("stopped", progress.number, self.step, self.turn), facts

    def open(self, loss):
        """Return the step with a declared loss, in gradcli's adapter for PyTorch."""
        from gradcli.claims.adapters.torch_step import TorchStep

        return TorchStep(self, training_tools(type(self.training), self.in_process), loss)


def training_tools(training, in_process):
    """Return what the adapter uses of this folder. training: the class that has the notes."""
    return types.SimpleNamespace(
        map_tensors=batches.map_tensors,
        tensors_in=batches.tensors_in,
        set_random_state=torch_state.set_random_state,
        random_state=torch_state.random_state,
        training=training,
        in_process=in_process,
    )


def place_of_caller():
    """Return file and line of the program's innermost frame outside installed packages, else of its first frame."""
    frame, found = sys._getframe(), None
    while frame is not None:
        file = frame.f_code.co_filename
        outside = not any(part in file for part in ("site-packages", "dist-packages", HERE, "<"))
        if outside and not file.startswith(sys.base_prefix):
            return file, frame.f_lineno
        found, frame = frame, frame.f_back
    return found.f_code.co_filename, found.f_lineno


def check_step(moment, settings):
    path = os.path.join(settings["folder"], f"report-{os.getpid()}-steps")
    title = type(moment.optimizer).__name__
    with writing_status(moment, settings, title, moment.seconds):
        if sys.modules["torch"].cuda.is_initialized() or "jax" in sys.modules:
            check_here(moment, settings, path)
        else:
            check_apart(moment, settings, path)


@contextlib.contextmanager
def writing_status(moment, settings, title, seconds):
    """Say in a file that a step is being checked, for the progress line of gradcli."""
    status = os.path.join(settings["folder"], f"step-{os.getpid()}.json")
    with open(status + ".new", "w", encoding="utf-8") as file:
        json.dump({"step": moment.step, "optimizer": title, "seconds": seconds}, file)
    os.replace(status + ".new", status)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.remove(status)


def check_apart(moment, settings, path):
    """Check in a fork, and wait for it; check in this process if PyTorch cannot differentiate in a fork."""
    ended, alive = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.close(ended)
            become_checker(type(moment.training))
            if not can_differentiate():
                os.write(alive, NO_BACKWARD)
                return
            # a thread of its own: OpenMP's threads did not survive the fork, but a new thread gets new ones
            worker = threading.Thread(target=check_in_fork, args=(moment, settings, path), daemon=True)
            worker.start()
            worker.join()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)  # nothing that the program has registered may run
    os.close(alive)
    try:
        done = select.select([ended], [], [], settings["step_timeout"])[0]
        answer = os.read(ended, len(NO_BACKWARD)) if done else b""
    finally:
        os.close(ended)
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(child, 0)
    if answer == NO_BACKWARD:
        check_here(moment, settings, path)
    if not done:
        write_finding(
            path, *moment.stopped(f"time limit of {settings['step_timeout']:g} s reached; raise it with --timeout")
        )


def can_differentiate():
    """Report whether backward works in this fork: it does not if the program has started autograd's device threads."""
    torch = sys.modules["torch"]
    try:
        with torch.enable_grad():
            torch.ones(1, requires_grad=True).sum().backward()
    except RuntimeError:
        return False
    return True


def fork():
    """Fork without the warning that threads do not survive; Python's record of shown warnings stays as it is."""
    quiet = ("ignore", None, DeprecationWarning, None, 0)
    warnings.filters.insert(0, quiet)
    try:
        return os.fork()
    finally:
        warnings.filters.remove(quiet)


def become_checker(training):
    Watch.current = training.current = None
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    warnings.simplefilter("ignore")


def check_here(moment, settings, path):
    """Check in this process, and restore what the check may change."""
    torch = sys.modules["torch"]
    state, streams, paths, finders = random_state(), (sys.stdout, sys.stderr), [*sys.path], [*sys.meta_path]
    moment.in_process = True
    dtype = torch.get_default_dtype()
    sys.stdout = sys.stderr = io.StringIO()
    try:
        check_in_fork(moment, settings, path)
    finally:
        for undo in moment.undo:
            undo()
        sys.stdout, sys.stderr = streams
        sys.path[:], sys.meta_path[:] = paths, finders
        torch.set_default_dtype(dtype)
        set_random_state(state)


def check_in_fork(moment, settings, path):
    try:
        if moment.threads:
            sys.modules["torch"].set_num_threads(moment.threads)
        load_gradcli(settings)
        from gradcli.guard.steps import check_training_step

        found = check_training_step(moment, settings)
        if found is not None:
            write_finding(path, *found)
    except BaseException:
        write_finding(path, "trouble", f"gradcli could not check step {moment.step}: {traceback.format_exc(limit=-4)}")


def write_finding(path, key, finding):
    with open(path, "ab", buffering=0) as file:
        file.write(pickle.dumps((key, finding)))
