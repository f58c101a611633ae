"""`python -m gradcli`, and the `gradcli` script.

The garbage collector is off until a command's modules are imported, and the process ends without the interpreter's
teardown. Both save noticeable time in a command that runs for a tenth of a second.
"""

import contextlib
import gc
import os
import signal
import sys
from typing import Any, NoReturn, cast


def main() -> NoReturn:
    """Run the command line and end the process with its exit code. SIGTERM ends it as Ctrl-C does."""
    words, output = list(sys.argv), cast(Any, None)
    try:
        end_by_sigterm()
        gc.disable()
        from .cli import output

        code = run_command_line()
    except KeyboardInterrupt:  # before the command line was read, or after it finished
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write("interrupted\n")
        code = 130
    except BaseException as error:  # the code that ran has changed what reports need, such as Python's modules
        if output is None:
            raise
        report_broken(error, output.results() if {"json", "--json"} & set(words) and not output.begun() else None)
        code = 3
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    flush_standard_streams()
    os._exit(code)


def end_by_sigterm() -> None:
    """Let SIGTERM raise KeyboardInterrupt in this process, but not in its children."""
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))


CORRUPTED = "the code that ran has corrupted the Python interpreter, so there is no result"


def report_broken(error: BaseException, results: Any) -> None:
    """Report an error without using the rest of gradcli. results: a stream to write it to as JSON, too, or None."""
    text = f"error: {CORRUPTED}\n  {type(error).__name__}: {error}\n"
    os.write(2, text.encode(errors="backslashreplace"))
    if results is not None:
        document = (
            f'{{"error": {{"kind": "target", "message": "{CORRUPTED}", "span": null, "hint": null, "exit": 3}}}}\n'
        )
        os.write(results.fileno(), document.encode())


def flush_standard_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):  # the user's code may have replaced it
            stream.flush()


def run_command_line() -> int:
    """Run the command line, wait for threads of the user's code, and return the exit code."""
    from .cli.main import main as run
    from .lang.limits import bound

    bound.own_process = True
    code = run()
    if "threading" in sys.modules:
        flush_standard_streams()
        sys.modules["threading"]._shutdown()
    import atexit

    atexit._run_exitfuncs()
    return code


PURE = {"click", "rich", "sympy", "mpmath", "pygments", "markdown_it", "mdurl"}
COMPILED = {"numpy", "scipy", "pyarrow"}
"""Packages that gradcli lends to any project's Python, and those that it lends only to the same Python version."""


class Lender:
    """Finds packages by name in the folders of another Python."""

    def __init__(self, names: set[str], path: list[str]):
        self.names, self.path = names, path

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        from importlib.machinery import PathFinder

        return PathFinder.find_spec(name, self.path) if name in self.names else None


def lend(cache_tag: str, path: list[str]) -> None:
    """Let this Python find packages that it lacks and gradcli needs in the folders of another Python."""
    same = cache_tag == sys.implementation.cache_tag
    sys.meta_path.append(Lender(PURE | COMPILED if same else PURE, path))


def run_as_guest() -> NoReturn:
    """Run in a project's Python; another Python passes its folders as the first word (user/project.py)."""
    import json

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [os.path.dirname(here), *(place for place in sys.path if place != here)]
    from gradcli.__main__ import lend, main

    del sys.path[0]
    lend(*json.loads(sys.argv.pop(1)))
    from gradcli.lang.limits import bound

    bound.guest = True
    main()


if __name__ == "__main__":
    main() if __package__ else run_as_guest()
