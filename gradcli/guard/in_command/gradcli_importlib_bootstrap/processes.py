# mypy: ignore-errors
"""The processes of the command: what a fork inherits, and how SIGTERM ends a process that has notes."""

import contextlib
import os
import signal
import threading
import time

from .notes import Watch

RESENDS, RESEND_SECONDS = 50, 0.02
"""How often multiprocessing repeats SIGTERM for a worker whose handler has not begun, and how long it waits each time.
A signal that arrives just before a blocking system call is noticed by Python only when another one interrupts the call.
"""


def end_at_termination(finish):
    """Call `finish` also if SIGTERM ends this process, as for workers of a multiprocessing.Pool."""

    def finish_and_end(number, _):
        signal.signal(number, signal.SIG_IGN)  # one may be on its way
        with contextlib.suppress(OSError):
            os.unlink(mark_of(os.getpid()))
        finish()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    finish_and_end.of_watch = True
    with contextlib.suppress(ValueError):  # not in the main thread
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            with contextlib.suppress(OSError), open(mark_of(os.getpid()), "w"):
                signal.signal(signal.SIGTERM, finish_and_end)


@contextlib.contextmanager
def held_termination():
    """Put off the end by SIGTERM, if `finish_and_end` would handle it, until the block has ended.

    Blocking the signal would not do: another thread, such as one of BLAS, would take it.
    """
    if not is_handled() or threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting = []

    def wait(number, _):
        waiting.append(number)

    wait.of_watch = True
    signal.signal(signal.SIGTERM, wait)
    process = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == process:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            if waiting:
                os.kill(process, signal.SIGTERM)


def is_handled():
    return hasattr(signal.getsignal(signal.SIGTERM), "of_watch")


def mark_of(number):
    """Return the file that shows that SIGTERM does not end a process immediately."""
    return os.path.join(Watch.folder, f"terminable-{number}")


def watch_forks():
    """Start forks without the notes and without the handler of their parent, which would delay their end.

    Python forgets signals that a fork gets before its first step. A SIGTERM therefore waits until the fork is ready.
    """
    masks = threading.local()

    def before():
        held = {signal.SIGTERM} if is_handled() else ()
        masks.before = signal.pthread_sigmask(signal.SIG_BLOCK, held)

    def in_child():
        if Watch.current is not None:
            Watch.current = Watch(Watch.current.settings, Watch.current.at_first)
        with contextlib.suppress(ValueError):
            if is_handled():
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
        after()

    def after():
        signal.pthread_sigmask(signal.SIG_SETMASK, masks.before)

    os.register_at_fork(before=before, after_in_parent=after, after_in_child=in_child)


def watch_termination(module):
    """Repeat the SIGTERM of multiprocessing until the worker has noticed it; kill a worker that does not."""
    terminate = module.Popen.terminate

    def watched(self):
        terminate(self)
        for _ in range(RESENDS):
            if not os.path.exists(mark_of(self.pid)) or self.poll() is not None:
                return
            time.sleep(RESEND_SECONDS)
            terminate(self)
        self.kill()

    module.Popen.terminate = watched


PATCHES = {"multiprocessing.popen_fork": watch_termination}
