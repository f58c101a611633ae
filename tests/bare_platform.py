"""Make this Python as poor as the one in a browser (Pyodide): no timers, threads, processes or resource limits.

Facts were taken from Pyodide 314.0.7: there, os.fork exists and fails, and signal has getitimer, but not setitimer.
"""

import os
import signal
import subprocess
import sys
import sysconfig
import threading
from typing import Any


def no_thread(*_: Any) -> None:
    raise RuntimeError("can't start new thread")


def no_process(*_: Any, **__: Any) -> None:
    raise OSError(138, "emscripten does not support processes.")


def no_fork() -> None:
    raise OSError(52, "Function not implemented")


def impoverish() -> None:
    sysconfig.get_config_vars()  # is different on each platform, but kept once read
    del signal.setitimer
    threading.Thread.start = no_thread  # type: ignore[method-assign]
    subprocess.Popen.__init__ = no_process  # type: ignore[method-assign,assignment]
    os.fork = no_fork  # type: ignore[assignment]
    sys.modules["resource"] = None  # type: ignore[assignment]
    os.cpu_count = lambda: 1
    sys.platform = "emscripten"
