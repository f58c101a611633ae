"""Messages on standard error: carets under the right characters, colours, and streams that cannot be written to."""

import errno
import io
import re

import click
import pytest
from click.testing import CliRunner

from gradcli.cli import messages
from gradcli.cli.main import COMMANDS, cli
from gradcli.cli.messages import Command, cell_len, colourful, examples_of, excerpt, message_text, printable, settings
from gradcli.cli.option_table import OPTIONS
from gradcli.errors import GradcliError, Span


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """Use standard error without colours, and restore the settings."""
    kept = {"color": "never", "quiet": False, "verbose": False, "stream": None, "lost": False}
    for name, value in kept.items():
        monkeypatch.setattr(settings, name, value)


class Terminal(io.StringIO):
    def isatty(self):
        super().isatty()  # raises if it is closed
        return True


@pytest.mark.parametrize(
    ("color", "environment", "terminal", "expected"),
    [
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),  # https://no-color.org: an empty value counts as unset
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
    ],
)
def test_colours_depend_on_option_environment_and_terminal(color, environment, terminal, expected, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(settings, "color", color)
    assert colourful(Terminal() if terminal else io.StringIO()) == expected


def test_a_closed_or_missing_stream_is_not_a_terminal():
    closed = Terminal()
    closed.close()
    assert [messages.is_terminal(x) for x in (Terminal(), io.StringIO(), None, closed)] == [True, False, False, False]


def marked(source, piece, origin=None):
    """Return the excerpt for the first occurrence of a piece in a source, and the text above the carets."""
    start = source.index(piece)
    lines = excerpt(Span(source, start, start + len(piece), origin), colour=False).split("\n")
    line, marks = lines[-2:]
    begin = len(marks) - len(marks.lstrip())
    return lines, line[begin : begin + marks.count("^")]


@pytest.mark.parametrize("piece", ["sinn", "x", "(y)", "x**2 + sinn(y)"])
def test_carets_are_under_the_piece(piece):
    lines, under = marked("x**2 + sinn(y)", piece)
    assert (len(lines), under) == (2, piece)


def test_the_line_is_named_if_there_are_several():
    lines, under = marked("a = 1\nb = sinn(a)\nb", "sinn")
    assert (lines[0], lines[1], under) == ("  line 2", "  b = sinn(a)", "sinn")
    lines, under = marked("sinn(a)", "sinn", origin="f.expr")
    assert (lines[0], under) == ("  f.expr, line 1", "sinn")
    assert len(marked("sinn(a)\n", "sinn")[0]) == 2  # a line break at the end does not begin a second line


@pytest.mark.parametrize("place", [0, 30, 500, 990])
def test_a_long_line_is_cut_around_the_piece(place):
    source = "x+" * (place // 2) + "BAD" + "+y" * ((1000 - place) // 2)
    lines, under = marked(source, "BAD")
    assert under == "BAD"
    assert max(map(len, lines)) <= 110
    assert [lines[0].startswith("  ..."), lines[0].endswith("...")] == [place > 40, place < 900]


def test_carets_count_columns_not_characters():
    line, marks = excerpt(Span("変数 + bad", 5, 8), colour=False).split("\n")
    assert (line, marks) == ("  変数 + bad", "  " + " " * 7 + "^^^")  # two characters of two columns, and " + "
    assert [cell_len(text) for text in ("abc", "変数", "e\u0301", "")] == [3, 4, 1, 0]
    assert excerpt(Span("\tbad", 1, 4), colour=False) == "   bad\n   ^^^"


def test_a_position_after_the_end_has_one_caret():
    assert excerpt(Span("sin(x", 5, 5), colour=False) == "  sin(x\n       ^"


def test_a_message_has_its_parts_in_order(monkeypatch):
    text = message_text("error", messages.RED, "no such \x1b[31mname", Span("f(x)", 0, 1), "try g")
    assert text == "error: no such ␛[31mname\n  f(x)\n  ^\nhint: try g"
    monkeypatch.setattr(settings, "color", "always")
    coloured = message_text("error", messages.RED, "m", Span("f(x)", 0, 1), "h")
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == "error: m\n  f(x)\n  ^\nhint: h"
    assert all(
        f"{tint}{word}{messages.PLAIN}" in coloured for tint, word in [("\x1b[1;31m", "^"), ("\x1b[36m", "hint:")]
    )


def test_quiet_prints_only_errors(monkeypatch, capsys):
    def say_all():
        messages.warn("careful", hint="look")
        messages.note("known")
        messages.detail("more")
        messages.say_counts("1 passed", good=True)
        messages.report(GradcliError("wrong"))
        return capsys.readouterr()

    assert say_all() == ("", "warning: careful\nhint: look\nnote: known\n1 passed\nerror: wrong\n")
    monkeypatch.setattr(settings, "verbose", True)
    assert "note: more\n" in say_all().err
    monkeypatch.setattr(settings, "quiet", True)
    assert say_all() == ("", "error: wrong\n")


def test_python_warnings_name_their_location_in_the_users_code(capsys):
    for file in ("fit.py", messages.__file__, "/usr/lib/site-packages/lib.py"):
        messages.show_warning(UserWarning("old"), UserWarning, file, 3)
    assert capsys.readouterr().err == "warning: fit.py:3: old\nwarning: old\nwarning: old\n"


class Refusing(io.StringIO):
    """A stream that raises an error when written to."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def write(self, text):
        raise self.error


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (OSError(errno.ENOSPC, "full"), True),
        (OSError(errno.EIO, "broken"), True),
        (BrokenPipeError(errno.EPIPE, "closed"), False),
        (ValueError("I/O operation on closed file"), False),
    ],
)
def test_a_stream_that_cannot_be_written_to_is_not_an_error(error, lost, monkeypatch):
    monkeypatch.setattr(settings, "stream", Refusing(error))
    messages.note("unseen")
    assert settings.lost == lost


@pytest.mark.parametrize(
    ("encoding", "text", "written"),
    [
        ("utf-8", "∂x → 𝒙", "∂x → 𝒙"),
        ("ascii", "∂x é", "\\u2202x \\u00e9"),
        ("latin-1", "∂x é", "\\u2202x é"),
        ("ascii", "𝒙", "\\ud835\\udc99"),  # as in JSON: U+1D499 is this pair of surrogates
        ("utf-8", "a\udcff", "a\\udcff"),  # a byte of a file name that is not UTF-8
        (None, "∂", "∂"),
    ],
)
def test_characters_that_a_stream_cannot_encode_are_escaped(encoding, text, written):
    stream = io.StringIO() if encoding is None else io.TextIOWrapper(io.BytesIO(), encoding)
    assert printable(text, stream) == written


def test_examples_are_split_where_a_command_begins():
    def examples(epilog):
        return examples_of(click.Command("x", epilog=epilog))

    assert examples("Examples: gradcli grad 'a; b'; gradcli grad y") == ["gradcli grad 'a; b'", "gradcli grad y"]
    assert (examples("Example: gradcli run x"), examples(None)) == (["gradcli run x"], [])


@click.command(cls=Command, epilog="Example: gradcli do x")
@OPTIONS["wrt"]
@OPTIONS["seed"]
@OPTIONS["precision"]
def do(**options):
    """Do it. This is the long text."""


def help_of(flag):
    return CliRunner().invoke(do, [flag], terminal_width=80).output


def test_help_groups_options_by_topic():
    text = help_of("--help")
    order = [
        "Usage: ",
        "Examples:",
        "gradcli do x",
        "the long text",
        "Options:",
        "--wrt",
        "Target and values:",
        "--seed",
    ]
    places = [text.index(word) for word in [*order, "Output:", "--precision", "--help"]]
    assert places == sorted(places)


@pytest.mark.parametrize("name", COMMANDS)
def test_short_help_of_a_command_fits_80_columns(name):
    lines = CliRunner().invoke(cli, [name, "-h"], terminal_width=80).output.splitlines()
    assert all(len(line) <= 80 for line in lines if line.startswith("  -"))
    assert not any(line.endswith("...") for line in lines if line.startswith("  -"))


def test_short_help_has_one_line_per_option():
    lines = help_of("-h").splitlines()
    assert not any("the long text" in line for line in lines)
    assert [sum(flag in line for line in lines) for flag in ("--wrt NAMES", "--seed N", "--precision N")] == [1, 1, 1]
    assert all(len(line) <= 80 for line in lines)
    wrt, precision = (next(line for line in lines if flag in line) for flag in ("--wrt", "--precision"))
    assert wrt.endswith("  Differentiate with respect to these inputs [all]")
    assert precision.endswith("  Number of significant digits to print")
