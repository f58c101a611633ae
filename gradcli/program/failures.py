"""What a user's Python raises, as errors with its own frames."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from ..errors import ENDINGS, EXIT_TARGET, GradcliError, NotBatchableError, Span, describe_error, text_of
from .instrument import BIND


def python_syntax_error(error: Exception, path: str, source: str) -> GradcliError:
    """Return Python's complaint about a script as ours."""
    span = None
    if isinstance(error, SyntaxError) and error.lineno:
        lines = source.splitlines(keepends=True)
        start = sum(map(len, lines[: error.lineno - 1])) + max((error.offset or 1) - 1, 0)
        span = Span(source, start, start + 1, path)
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return GradcliError(f"{path} is no Python: {message}", span=span, kind="syntax")


WITHOUT_TORCH = "with --torch, `import torch` means gradcli's own engine"


def script_error(error: BaseException, path: str) -> GradcliError:
    """Return what a script raised, with the traceback limited to the script's own frames."""
    import traceback

    frames = [f for f in traceback.extract_tb(error.__traceback__) if own_frame(f.filename, path)]
    trace = "".join(traceback.format_list(frames)).rstrip().replace(f"{BIND}(", "(")
    message = f"{path} raised {describe_error(error)}"
    notes = getattr(error, "__notes__", ())
    for line in notes if isinstance(notes, list | tuple) else ():
        message += f"\n  {text_of(line)}"
    hint = hint_on_import(error, path) if isinstance(error, ImportError) else None
    failure = GradcliError(message + (f"\n{trace}" if trace else ""), hint=hint, kind="target", exit_code=EXIT_TARGET)
    failure.cause = error
    failure.cause_line = (frames[-1].filename, frames[-1].lineno or 0) if frames else None
    return failure


def hint_on_import(error: ImportError, path: str) -> str | None:
    """Return what to do about a module that was not found: where it was looked for, and where there is one."""
    if error.name == "torch":
        return WITHOUT_TORCH
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    name = error.name.partition(".")[0]
    folder = os.path.dirname(os.path.abspath(path))
    above = [folder]
    while os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    holds = (p for p in above if any(os.path.exists(os.path.join(p, file)) for file in (f"{name}.py", name)))
    there = next(holds, None)
    if there is not None:
        return f"it is in {there}: put PYTHONPATH={there} before the command"
    return f"it is looked for in {folder} and in Python's own folders; PYTHONPATH=FOLDER adds another"


def exit_text(code: Any) -> str:
    """Return what to say of a script that ended itself: with a status, or with a message."""
    if isinstance(code, int):
        return f"exited with status {code}"
    return f"ended: {text_of(code)}"


def own_frame(filename: str, path: str) -> bool:
    if filename == path:
        return True
    if filename.startswith("<frozen "):  # Python's own import
        return False
    folder = os.path.dirname(os.path.abspath(path))
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    full = os.path.abspath(filename)
    return full.startswith(folder + os.sep) and "site-packages" not in full and not full.startswith(package + os.sep)


def users_trace(error: BaseException | None) -> str:
    """Return the frames of an exception that are the user's own, as Python prints them: no library's, nor ours."""
    if error is None:
        return ""
    import sysconfig
    import traceback

    paths = sysconfig.get_paths()
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    others = tuple(place + os.sep for place in (package, paths["stdlib"], paths["platstdlib"]))
    frames = []
    for frame in traceback.extract_tb(error.__traceback__):
        try:
            full, near = os.path.abspath(frame.filename), os.path.relpath(frame.filename)
        except OSError:  # the folder is gone
            full = near = frame.filename
        if frame.filename.startswith("<") or full.startswith(others) or "-packages" + os.sep in full:
            continue
        frame.filename = full if near.startswith(os.pardir) else near
        frames.append(frame)
    return "".join(traceback.format_list(frames)).rstrip()


@contextlib.contextmanager
def blame_user_code(path: str, what: str) -> Any:
    """Turn what the user's code raises into a GradcliError with the code's own frames."""
    try:
        yield
    except (GradcliError, NotBatchableError, *ENDINGS):
        raise
    except SystemExit as stop:
        raise GradcliError(f"{what} {exit_text(stop.code)}", kind="target", exit_code=EXIT_TARGET) from None
    except BaseException as error:
        raise script_error(error, path) from None
