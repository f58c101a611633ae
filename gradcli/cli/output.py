"""Write results to a terminal, a pipe or a file, without mixing them with what the user's code prints."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Iterator
from typing import Any

from ..errors import ENDINGS, GradcliError, visible
from ..lang.limits import after_fork, stand_down
from ..request import Request
from ..results.formats import FORMATS, Style, render
from . import messages


class NobodyReadsError(Exception):
    """The reader of standard output has closed the pipe. For the command, this is not an error."""


class _Results:
    """Where results go.

    stream: None for standard output itself. begun: whether some have been written. aside: whether other output goes to
    standard error. folder: the folder that file names are relative to.
    """

    stream: Any = None
    begun = False
    aside = False
    folder = ""


def claim() -> None:
    """Copy standard output for results and standard error for messages, because the user's code may close both.

    Child processes of the user's code cannot write results. File names are relative to the folder in which the command
    was called, even if the user's code changes it. Output to a standard stream closed at the start is discarded.
    """
    release()
    with contextlib.suppress(OSError):
        _Results.folder = os.getcwd()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for the rest of the process
    after_fork(disown)
    flush()
    _Results.stream, messages.settings.stream = copy_stream(sys.stdout), copy_stream(sys.stderr)
    messages.settings.lost = False


def copy_stream(stream: Any) -> Any:
    """Return a second stream to the same place, which stays open if the first is closed; None if that fails."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return open(os.dup(stream.fileno()), "w", encoding=stream.encoding, errors=stream.errors)
    return None


def set_aside() -> None:
    """Redirect what is written to standard output, except results, to standard error."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        _Results.aside = True


def results_to_stderr() -> None:
    """Write results to standard error: standard output belongs to the user's command."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(sys.stderr.fileno(), _Results.stream.fileno())


def disown() -> None:
    """Discard what this process writes to the copies of standard streams; messages go to standard error."""
    discard(_Results.stream, messages.settings.stream)
    messages.settings.stream = None


@contextlib.contextmanager
def handed_on() -> Iterator[None]:
    """Let a process that is forked in the block write results and messages in place of this one."""
    stream = messages.settings.stream
    copies = [(x, os.dup(x.fileno())) for x in (_Results.stream, stream) if x is not None]
    yield
    for original, copy in copies:
        os.dup2(copy, original.fileno())
        os.close(copy)
    messages.settings.stream = stream


def discard(*streams: Any) -> None:
    for stream in streams:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def results() -> Any:
    return _Results.stream or sys.stdout


def write(text: Any) -> None:
    """Write a result, text or bytes, after the user's output so far. Raises NobodyReadsError."""
    flush()
    stream = results()
    _Results.begun = True
    try:
        if isinstance(text, bytes):
            stream.buffer.write(text)
        else:
            stream.write(messages.printable(text, stream))
        stream.flush()
    except BrokenPipeError:
        raise NobodyReadsError from None


def begun() -> bool:
    return _Results.begun


def nobody_reads() -> bool:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        poll = select.poll()
        poll.register(results(), 0)
        return any(events & select.POLLERR for _, events in poll.poll(0))
    return False


def flush() -> None:
    with contextlib.suppress(OSError):
        finish_output()


def finish_output() -> None:
    """Flush what the user's code has printed. Raises OSError if there is no room for it."""
    try:
        sys.stdout.flush()
    except ENDINGS:
        raise
    except BaseException as error:  # the user's code may have replaced sys.stdout
        if isinstance(error, OSError) and error.errno in messages.FULL:
            raise


def release() -> None:
    """Restore standard output.

    A process that ends with the command does not call this: its threads and exit functions would print after results.
    """
    flush()
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if _Results.aside:
            os.dup2(_Results.stream.fileno(), sys.stdout.fileno())
    for stream in (_Results.stream, messages.settings.stream):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.close()
    _Results.stream, _Results.begun, _Results.aside, messages.settings.stream = None, False, False, None


def silence() -> None:
    discard(_Results.stream, sys.stdout)


LONGEST_LINE = 1000
"""The longest line of a table, in columns."""
PLAIN_CHARACTERS = str.maketrans("…×·∂²", "~x*d2")
"""ASCII replacements of the same width for the most common characters."""
FILE_SIZE = (100, 40)
TEXT_ENDINGS = ("", ".txt", ".log", ".out", ".lock")
"""Endings of text files in any format; other endings imply a format."""
TABLE_FORMATS = ("table", "text")
"""Formats without an ending of their own."""


class Output:
    """How to show a result.

    form: the format, given by the ending of the file or -f; by default `table` on a terminal or with --plot, otherwise
    the second of the command's formats. path: a file, None for standard output.
    """

    def __init__(self, request: Request, formats: tuple[str, ...]):
        form, path, command = request.format, request.output, request.command
        self.formats, self.precision, self.command = formats, request.precision, command
        self.path = None if path == "-" else path
        of_pipe = formats[:2][-1]
        on_terminal = path is None and messages.is_terminal(results())
        kind = os.path.splitext(self.path or "")[1].lower()
        named = of_pipe if kind == ".tsv" else next((name for name, f in FORMATS.items() if kind in f.endings), None)
        unknown = named is None and form is None and len(formats) > 1 and kind not in TEXT_ENDINGS
        if unknown and not is_stream(self.path or ""):
            endings = [
                ".txt",
                *((FORMATS[name].endings or (".tsv",))[0] for name in formats if name not in TABLE_FORMATS),
            ]
            hint = f"the types are {', '.join(dict.fromkeys(endings))}; with -f any name is allowed"
            if kind == ".mtx" and "npz" in formats:
                hint = "write a .npz file; scipy.sparse.load_npz and scipy.io.mmwrite make an .mtx file of it"
            raise GradcliError(f"-o {path}: unknown type of file '{kind}'", hint=hint, kind="file")
        if named is not None and named not in formats:
            raise GradcliError(f"{command} does not write {kind} files", hint=f"its formats are {', '.join(formats)}")
        if form is not None and kind in FORMATS[form].endings:
            named = form
        if form is not None and named not in (None, form):
            raise GradcliError(f"-f {form} and -o {path} disagree: a {kind} file is {named}", hint="leave out -f")
        self.form = named or form or ("table" if on_terminal or request.plot else of_pipe)

    def check(self) -> None:
        """Raise GradcliError for a file that cannot be written, before anything is computed."""
        if self.path is not None:
            check_writable(self.path)
        elif FORMATS[self.form].binary and messages.is_terminal(results()):
            hint = f"write it to a file: -o FILE.{self.form}"
            raise GradcliError(f"a .{self.form} file cannot be written to a terminal", hint=hint)

    @property
    def prints_all(self) -> bool:
        return FORMATS[self.form].whole

    @property
    def unicode(self) -> bool:
        """Whether standard output takes more than ASCII. LC_ALL=C says no, whatever Python assumes."""
        if os.environ.get("LC_ALL") in ("C", "POSIX") and not os.environ.get("PYTHONIOENCODING"):
            return False
        return (getattr(results(), "encoding", None) or "").lower().startswith("utf")

    def show(self, result: Any) -> None:
        whole = self.path is not None or self.form == "html"  # files and pages have all elements
        style = Style(self.precision, self.unicode, self.command, self.size, whole=whole)
        rendered = render(result, self.form, style)
        if self.form == "table":
            rendered = self.print_text(rendered, self.numbers_of(result, style))
        self.write(rendered)
        if self.form == "table" and "npy" in self.formats:
            note_what_is_hidden(result, rendered)

    def numbers_of(self, result: Any, style: Style) -> Any:
        """Render the numbers of a result without other text, because they are never cut; None for other results."""
        from ..results.base import Gradients, Hessian, Jacobian, Products

        if not isinstance(result, Gradients | Hessian | Jacobian | Products):
            return None
        nothing: dict[str, Any] = {"symbolic": (), "check": None}
        kept = {name: x for name, x in nothing.items() if name in result._fields}
        return render(result._replace(**kept), "table", style)

    @property
    def size(self) -> tuple[int, int]:
        return terminal_size() if self.path is None and not self.prints_all else FILE_SIZE

    def print_text(self, renderable: Any, whole: Any = None) -> str:
        """Render with rich for this terminal or file.

        whole: a renderable that must not be cut, even if its lines are longer than the terminal is wide.
        """
        console = console_for(self.size[0], self.path is None and messages.colourful(results()))
        if whole is not None:
            from rich.measure import Measurement

            wide = console.options.update(max_width=LONGEST_LINE, width=LONGEST_LINE)
            console.width = max(console.width, Measurement.get(console, wide, whole).maximum)
        console.print(renderable, crop=False)
        text = "\n".join(line.rstrip() for line in console.file.getvalue().split("\n"))
        return text if self.unicode else text.translate(PLAIN_CHARACTERS)

    def write(self, text: str | bytes) -> None:
        stand_down()
        if self.path is not None:
            write_file(self.path, text)
        else:
            write(text)


def output_of(command: str, formats: tuple[str, ...], **asked: Any) -> Output:
    """Return the output of a command without a TARGET, and apply its settings for messages."""
    request = Request(command=command, **asked)
    messages.settings.color, messages.settings.quiet = request.color, request.quiet
    shown = Output(request, formats)
    shown.check()
    return shown


def note_what_is_hidden(result: Any, text: str) -> None:
    from ..results.base import dense_arrays
    from ..show.arrays import SHOWN_WHOLE

    value = getattr(result, "value", None)
    count = max(getattr(x, "size", 0) for x in (value, *dense_arrays(result).values()))
    if count > SHOWN_WHOLE and ("…" in text or "..." in text):
        messages.note(f"the table shows the first and last of {count} elements; use -f tsv or -o FILE.npy for all")


def terminal_size() -> tuple[int, int]:
    """Return columns and lines of the terminal: COLUMNS and LINES, else its size, else 80 and 24."""
    import shutil

    columns, lines = shutil.get_terminal_size((80, 24))
    return max(columns, 20), lines


class StatusLine:
    """A line on standard error that is rewritten; nothing without a terminal."""

    def __init__(self) -> None:
        self.possible, self.shown = messages.shows_progress(), False

    def write(self, text: str) -> None:
        if self.possible:
            self.shown = bool(text)
            sys.stderr.write("\r\x1b[2K" + messages.printable(text, sys.stderr)[: terminal_size()[0] - 1])
            sys.stderr.flush()

    def clear(self) -> None:
        if self.shown:
            self.write("")


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def console_for(width: int, colour: bool) -> Any:
    import io

    from rich.console import Console
    from rich.segment import Segment

    class Visible(Console):
        """A console that shows control characters as pictures."""

        def render(self, *args: Any, **named: Any) -> Any:
            for segment in super().render(*args, **named):
                clean = segment.control is not None or segment.text.isprintable()
                yield segment if clean else Segment(visible(segment.text), segment.style)

    return Visible(
        file=io.StringIO(),
        force_terminal=colour,
        no_color=not colour,
        width=width,
        highlight=False,
        legacy_windows=False,
        color_system="standard" if colour else None,
    )


def check_writable(path: str) -> None:
    if not path:
        raise GradcliError("the name of the output file is empty", hint="for example -o result.json")
    folder, why = os.path.dirname(path) or ".", ""
    if os.path.isdir(path):
        why = "it is a directory"
    elif not os.path.isdir(folder):
        why = f"no such folder {os.path.abspath(folder)}"
    elif not os.access(folder, os.W_OK) and not os.access(path, os.W_OK):
        why = "permission denied"
    if why:
        raise GradcliError(f"cannot write {path}: {why}", kind="file")


def write_file(path: str, content: str | bytes) -> None:
    """Write a file completely or not at all: to a temporary file, which is renamed.

    Devices and pipes, and names such as /dev/stdout, are written directly. Raises GradcliError.
    """
    from ..files import replacing

    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    place = os.path.join(_Results.folder, path)
    try:
        if is_stream(place):
            with open(place, "ab") as file:
                file.write(data)
            return
        with replacing(place) as file:
            file.write(data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise GradcliError(f"cannot write {path}: {error.strerror or error}", kind="file") from None


def is_stream(path: str) -> bool:
    """Return whether a path leads to a device or a pipe, which is written to instead of replaced."""
    device = os.path.abspath(path).startswith(("/dev/", "/proc/")) and not path.startswith("/dev/shm/")
    return device or (os.path.exists(path) and not os.path.isfile(path))
