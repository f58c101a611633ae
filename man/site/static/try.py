"""Runs command lines of gradcli inside a page: `try-worker.mjs` loads this file into Pyodide."""

import contextlib
import io
import os
import shlex

from gradcli.cli.main import main
from gradcli.errors import GradcliError
from gradcli.tape.dtypes import get_default_dtype, set_default_dtype

FILE = "example.py"
SETTINGS = {"NO_COLOR": "1", "TERM": "xterm", "LINES": "40"}


class Screen(io.TextIOWrapper):
    """What a command writes. It counts as a terminal, so that results are tables."""

    def __init__(self):
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding="utf-8", write_through=True)

    def isatty(self):
        return True

    @property
    def text(self):
        return self.bytes.getvalue().decode()


def answer(line, columns=80, file=""):
    """Run a command line; return what it prints, its messages, and its exit code. file: the text of example.py."""
    with open(FILE, "w", encoding="utf-8") as source:
        source.write(file)
    os.environ.update(SETTINGS, COLUMNS=str(columns))
    try:
        words = shlex.split(line)
    except ValueError as error:
        return "", f"error: {error}\n", 2
    dtype, out, messages = get_default_dtype(), Screen(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(messages):
        try:
            code = main(words[1:] if words[:1] == ["gradcli"] else words)
        except GradcliError as error:
            code = error.exit_code
        finally:
            set_default_dtype(dtype)
    return out.text, messages.getvalue(), code
