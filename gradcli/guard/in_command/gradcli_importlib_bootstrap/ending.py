# mypy: ignore-errors
"""Checks the notes at the end of a process: in a fork that outlives it, or in the process itself if no fork can work.

A fork has only one thread. Functions that use threads of their process, such as those of JAX or of an executor, wait
for ever in it. OpenMP is told to use one thread. For everything else, a trial shows whether the functions return.
"""

import contextlib
import fcntl
import importlib
import importlib.util
import os
import pickle
import re
import signal
import stat
import sys
import threading
import time
import traceback
import warnings

from .notes import Watch
from .processes import held_termination

OLDEST_PYTHON = (3, 11)
TRIAL_SECONDS = 10.0  # a trial that takes longer is slow, not stuck
TRIAL_LOOK_SECONDS = 0.05  # seconds between two looks at a trial
UNFORKABLE = ("jax", "numba.np.ufunc.omppool")  # modules that do not work in a fork, or end it
OPENMP = re.compile(r"/lib(gomp|iomp5|omp)[^/]*\.so")
FUTEX = {"x86_64": 202, "aarch64": 98}.get(os.uname().machine)
PRIVATE = 128  # the flag of a futex that only threads of the same process can wake


def check_uses_at_end():
    """Check the notes of this process."""
    with held_termination():  # it would end the process too early
        if jax := sys.modules.get("jax"):
            with contextlib.suppress(Exception):
                jax.effects_barrier()  # until compiled code has passed on the values of its calls
        watch, Watch.current = Watch.current, None  # calls by the check are not noted
        if watch is None or not watch.derivatives or (report := open_report()) is None:
            return
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            apart = not any(name in sys.modules for name in UNFORKABLE) and check_uses_in_fork(watch, report)
    if not apart:
        check_uses_here(watch, report)
    os.close(report)


def open_report():
    """Return a new file for the reports, locked until the checks have ended in any way; None if gradcli has ended."""
    path = os.path.join(Watch.folder, f"report-{os.getpid()}-{time.monotonic_ns()}")
    try:
        report = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return None
    fcntl.flock(report, fcntl.LOCK_EX)
    return report


def check_uses_in_fork(watch, report):
    """Check in a fork, and return without waiting for it; False if the functions do not work in forks."""
    questions, answers = os.pipe(), os.pipe()
    try:
        number = os.fork()
    except RuntimeError:  # Python 3.12.0 to 3.12.2 refuse this while the interpreter ends
        for end in (*questions, *answers):
            os.close(end)
        return False
    if number == 0:
        try:
            for end in (questions[1], answers[0]):  # so that the end of the other process is noticed
                os.close(end)
            quiet_openmp()
            silence_streams()
            if os.read(questions[0], 1) == b"t" and not works_in_fork(watch):
                os.write(answers[1], b"n")
            else:
                os.write(answers[1], b"y")
                close_pipes(report)
                check_all_uses(watch, report, apart=True)
        except BaseException:
            write_trouble(report)
        finally:
            os._exit(0)
    for end in (questions[0], answers[1]):
        os.close(end)
    # BLAS has ended its threads to allow the fork
    os.write(questions[1], b"t" if count_threads(os.getpid()) > 1 else b"g")
    answer = os.read(answers[0], 1)
    for end in (questions[1], answers[0]):
        os.close(end)
    if answer == b"n":
        os.waitpid(number, 0)
    return answer != b"n"


def check_uses_here(watch, report):
    nowhere, streams = os.open(os.devnull, os.O_RDWR), [os.dup(number) for number in (0, 1, 2)]
    leave, os._exit = os._exit, refuse_exit
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_all_uses(watch, report, apart=False)
    except BaseException:
        write_trouble(report)
    finally:
        os._exit = leave
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.close(nowhere)


def refuse_exit(status):
    raise SystemExit(status)


def silence_streams():
    """Connect the standard streams of a fork to nothing, so that nobody waits for their end."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)


def close_pipes(report):
    """Close the command's pipes and sockets: others may wait for their end."""
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with contextlib.suppress(OSError):
            mode = os.fstat(int(name)).st_mode
            if int(name) > 2 and int(name) != report and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
                os.close(int(name))


def quiet_openmp():
    """Let OpenMP run with one thread in this fork, even if a function asks for more: the others did not survive."""
    import ctypes

    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        for path in {line.split(maxsplit=5)[-1].strip() for line in file if OPENMP.search(line)}:
            with contextlib.suppress(OSError, AttributeError):
                ctypes.CDLL(path).omp_set_max_active_levels(0)


def works_in_fork(watch):
    """Report whether the functions of the notes return in a fork, which a fork of this one tries."""
    number = os.fork()
    if number == 0:
        try:
            for derivative in list(watch.derivatives.values()):
                try_use(derivative.last or derivative.first)
        finally:
            os._exit(0)
    end, stuck = time.monotonic() + TRIAL_SECONDS, False
    while os.waitpid(number, os.WNOHANG) == (0, 0):
        before, stuck = stuck, is_stuck(number)
        if (before and stuck) or time.monotonic() > end:
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
            return not stuck
        time.sleep(TRIAL_LOOK_SECONDS)
    return True


def try_use(use):
    """Call a function and its derivative as in the run; errors do not matter."""
    if use is None:
        return
    if use.kind == "torch" and hasattr(use.function, "apply"):
        with contextlib.suppress(BaseException):
            args = [x.requires_grad_() if wanted else x for x, wanted in zip(use.args, use.wrt, strict=False)]
            result = use.function.apply(*args)
            (result[0] if isinstance(result, tuple) else result).sum().backward()
        return
    for function in (use.function, use.claim):
        with contextlib.suppress(BaseException):
            function(*use.args)


def count_threads(number):
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{number}/task"))
    return threading.active_count()


def is_stuck(number):
    """Report whether all threads of a process wait for each other: nothing else can end a wait without a time limit."""
    try:
        threads = os.listdir(f"/proc/{number}/task")
        return all(map(is_waiting, (f"/proc/{number}/task/{thread}/syscall" for thread in threads)))
    except (OSError, ValueError):
        return False


def is_waiting(path):
    """Report whether a thread waits for another one of its process, without a time limit (see proc_pid_syscall(5))."""
    with open(path, encoding="ascii") as file:
        words = file.read().split()
    if len(words) < 5 or words[0] != str(FUTEX):
        return False
    operation, limit = int(words[2], 16), int(words[4], 16)
    return bool(operation & PRIVATE) and limit == 0


def load_gradcli(settings):
    """Load gradcli from the folder of the watching one, with the packages that it lends."""
    if sys.version_info < OLDEST_PYTHON:
        raise RuntimeError(f"this needs Python {'.'.join(map(str, OLDEST_PYTHON))} or later")
    if "gradcli" not in sys.modules:
        place = settings["gradcli"]
        file = os.path.join(place, "__init__.py")
        spec = importlib.util.spec_from_file_location("gradcli", file, submodule_search_locations=[place])
        sys.modules["gradcli"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    importlib.import_module("gradcli.__main__").lend(*settings["lent"])


def check_all_uses(watch, report, apart):
    """Load gradcli, and write the reports of its checks one by one."""
    os.write(report, pickle.dumps(("checker", os.getpid() if apart else None)))
    load_gradcli(watch.settings)
    check_recorded_uses = importlib.import_module("gradcli.guard.watched").check_recorded_uses
    run_seconds = time.monotonic() - watch.start
    for finding in check_recorded_uses(list(watch.derivatives.values()), watch.settings, run_seconds, apart):
        os.write(report, finding)


def write_trouble(report):
    message = f"gradcli could not check the recorded derivatives: {traceback.format_exc(limit=-3)}"
    with contextlib.suppress(OSError):
        os.write(report, pickle.dumps(("trouble", message)))
