"""Where results go, in which format, and how they are kept apart from the output of the user's code."""

import contextlib
import errno
import io
import os
import sys

import numpy as np
import pytest

from gradcli.cli import messages, output
from gradcli.cli.output import Output, is_stream, write_file
from gradcli.errors import GradcliError
from gradcli.request import Request
from gradcli.results.base import Gradients, InputGradient, Products
from gradcli.results.formats import ARRAY_FORMATS

DRAWN = ("table", "dot", "svg", "png")


def form_of(path=None, form=None, formats=ARRAY_FORMATS, plot=False):
    return Output(Request(command="grad", format=form, output=path, plot=plot), formats).form


@pytest.mark.parametrize(
    ("path", "form", "formats", "expected"),
    [
        (None, None, ARRAY_FORMATS, "tsv"),  # a pipe: the second format
        (None, None, ("text",), "text"),
        (None, "json", ARRAY_FORMATS, "json"),
        ("-", None, ARRAY_FORMATS, "tsv"),
        ("out.txt", None, ARRAY_FORMATS, "tsv"),
        ("out", None, ARRAY_FORMATS, "tsv"),
        ("out.tsv", None, ARRAY_FORMATS, "tsv"),
        ("out.json", None, ARRAY_FORMATS, "json"),
        ("OUT.CSV", None, ARRAY_FORMATS, "csv"),
        ("out.tex", None, ARRAY_FORMATS, "latex"),
        ("out.gv", None, DRAWN, "dot"),
        ("out.json", "json", ARRAY_FORMATS, "json"),
        ("out.txt", "json", ARRAY_FORMATS, "json"),
        ("out.xyz", "json", ARRAY_FORMATS, "json"),  # with -f any name is allowed
        ("out.tsv", "tsv", ARRAY_FORMATS, "tsv"),
        ("out.json", "gitlab", ("table", "gitlab", "json"), "gitlab"),  # two formats have this ending
        ("/dev/null.xyz/../null", None, ARRAY_FORMATS, "tsv"),
    ],
)
def test_the_format_follows_from_the_file_and_the_option(path, form, formats, expected):
    assert form_of(path, form, formats) == expected


@pytest.mark.parametrize(
    ("path", "form", "message", "hint"),
    [
        ("out.xyz", None, "unknown type of file '.xyz'", "the types are .txt, .tsv, .json, .tex, .npz, .npy, .csv;"),
        ("out.svg", None, "grad does not write .svg files", "its formats are table, tsv, json, latex, npz"),
        ("out.csv", "json", "-f json and -o out.csv disagree: a .csv file is csv", "leave out -f"),
        ("out.npz", "npy", "-f npy and -o out.npz disagree", "leave out -f"),
    ],
)
def test_files_that_do_not_match_the_format_are_refused(path, form, message, hint):
    with pytest.raises(GradcliError) as raised:
        form_of(path, form)
    assert message in raised.value.message and hint in raised.value.hint


def test_a_terminal_gets_a_table(monkeypatch):
    monkeypatch.setattr(messages, "is_terminal", lambda stream: True)
    assert (form_of(), form_of("-"), form_of("out.txt"), form_of(form="csv")) == ("table", "tsv", "tsv", "csv")
    with pytest.raises(GradcliError, match=r"a .npy file cannot be written to a terminal"):
        Output(Request(format="npy"), ARRAY_FORMATS).check()


def test_a_plot_is_a_table_even_in_a_pipe():
    assert form_of(plot=True) == "table"


@pytest.mark.parametrize(
    ("path", "message"),
    [("", "is empty"), ("dir", "it is a directory"), ("no/out.json", "no such folder /"), ("made.json", None)],
)
def test_a_file_that_cannot_be_written_is_reported_beforehand(path, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dir").mkdir()
    output_ = Output(Request(format="json", output=path), ARRAY_FORMATS)
    if message is None:
        output_.check()
    else:
        with pytest.raises(GradcliError, match=message):
            output_.check()
    assert os.listdir() == ["dir"]


@pytest.mark.parametrize(
    ("environment", "encoding", "expected"),
    [
        ({}, "utf-8", True),
        ({}, "UTF-8", True),
        ({}, "latin-1", False),
        ({"LC_ALL": "C"}, "utf-8", False),
        ({"LC_ALL": "C.UTF-8"}, "utf-8", True),
        ({"LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}, "utf-8", True),
    ],
)
def test_unicode_depends_on_locale_and_encoding(environment, encoding, expected, monkeypatch):
    for name in ("LC_ALL", "PYTHONIOENCODING"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding))
    assert Output(Request(), ARRAY_FORMATS).unicode == expected


def test_the_size_is_that_of_the_terminal_or_fixed_for_files(monkeypatch):
    monkeypatch.setenv("COLUMNS", "7")
    monkeypatch.setenv("LINES", "33")
    assert Output(Request(format="table"), ARRAY_FORMATS).size == (20, 33)  # the smallest width of a table
    assert Output(Request(format="table", output="out.txt"), ARRAY_FORMATS).size == (100, 40)
    assert Output(Request(format="json"), ARRAY_FORMATS).size == (100, 40)


def shown(result, capsys, **asked):
    Output(Request(command="grad", format="table", **asked), ARRAY_FORMATS).show(result)
    return capsys.readouterr()


def test_tables_escape_control_characters_and_do_not_cut_numbers(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(messages.settings, "color", "never")
    x = np.array([1.2345678901234567e-200, -1.0])
    text = shown(Products("t", "vjp", np.float64(1), {"x\x1b[31m": x}), capsys).out
    assert "1.23457e-200" in text and "\x1b" not in text
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    assert shown(Products("t", "vjp", np.float64(1), {"x": np.arange(1e4)}), capsys).out.isascii()


def test_elements_that_a_table_leaves_out_are_counted(capsys, monkeypatch):
    monkeypatch.setattr(messages.settings, "quiet", False)

    def said(*shape):
        x = np.ones(shape)
        return shown(Gradients("t", np.float64(1), (InputGradient("x", x, x),), {}), capsys).err

    assert "the table shows the first and last of 5000 elements" in said(5000)
    assert said(3) == said(5, 6) == ""  # all 30 elements are shown


def test_a_file_is_written_completely_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "out.txt"
    path.write_text("old")
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    write_file(str(tmp_path / "link"), "new\udcff")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new\\udcff", 0o640)
    assert (tmp_path / "link").is_symlink()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(GradcliError, match=r"cannot write .*out.txt: No space left on device"):
        write_file(str(path), b"newer")
    assert path.read_text() == "new\\udcff" and sorted(os.listdir(tmp_path)) == ["link", "out.txt"]


def test_devices_and_pipes_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_file(str(tmp_path / "pipe"), "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    paths = [str(tmp_path / "pipe"), "/dev/null", "/dev/stdout", str(tmp_path / "file"), "new.txt", "/dev/shm/x"]
    assert [is_stream(path) for path in paths] == [True, True, True, False, False, False]


@contextlib.contextmanager
def standard_files(folder, monkeypatch):
    """Redirect standard output and error to files in a folder; yield a function that reads these. Not a fixture,
    because pytest has other streams while it sets one up."""
    with open(folder / "stdout", "w") as out, open(folder / "stderr", "w") as err, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        output.claim()
        yield lambda: [out.closed or out.flush() or (folder / name).read_text() for name in ("stdout", "stderr")]
        output.release()


def test_results_come_after_what_was_printed(tmp_path, monkeypatch):
    with standard_files(tmp_path, monkeypatch) as written:
        print("printed")
        begun = [output.begun()]
        output.write("result\n")
        print("later")
        begun.append(output.begun())
        found = written()
    assert (begun, found) == ([False, True], ["printed\nresult\nlater\n", ""])


def test_set_aside_leaves_only_results_on_standard_output(tmp_path, monkeypatch):
    with standard_files(tmp_path, monkeypatch) as written:
        output.set_aside()
        print("printed")
        output.write("result\n")
        output.write(b"\x00bytes\n")
        found = written()
        output.release()
        print("after the command")
        after = written()
    assert found == ["result\n\x00bytes\n", "printed\n"]
    assert after[0] == "result\n\x00bytes\nafter the command\n"


def test_the_users_code_may_close_standard_output(tmp_path, monkeypatch):
    with standard_files(tmp_path, monkeypatch):
        sys.stdout.close()
        output.write("result\n")
        messages.note("said")
    assert [(tmp_path / name).read_text() for name in ("stdout", "stderr")] == ["result\n", "note: said\n"]


def test_a_child_process_writes_no_results(tmp_path, monkeypatch):
    with standard_files(tmp_path, monkeypatch) as written:
        output.disown()
        output.write("from a child\n")
        print("printed")
        found = written()
    assert found[0] == "printed\n"


def test_output_files_are_relative_to_the_initial_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output.claim()
    (tmp_path / "elsewhere").mkdir()
    os.chdir("elsewhere")
    write_file("out.txt", "here")
    output.release()
    assert (tmp_path / "out.txt").read_text() == "here"


def test_a_pipe_that_nobody_reads_is_detected(monkeypatch):
    reader, writer = os.pipe()
    pipe = io.TextIOWrapper(io.FileIO(writer, "w"), write_through=True)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", pipe)
        read = [output.nobody_reads()]
        os.close(reader)
        read.append(output.nobody_reads())
        with pytest.raises(output.NobodyReadsError):
            output.write("unread")
    assert read == [False, True]
