"""The user's files: which modules they import, what they raise, and that they leave nothing behind."""

import re
import sys

import pytest

from gradcli.errors import GradcliError, TargetError, TimeIsUp
from gradcli.user.instrument import BIND_NAME, LAST_NAME, instrument, last_names
from gradcli.user.loading import Folders, Surroundings, change_to, check_callable, find_in, load_module, root_of
from gradcli.user.tracebacks import (
    blame_user_code,
    exit_text,
    hint_on_import,
    is_users,
    place_of_return,
    python_syntax_error,
    raised_by_user,
    users_path,
    users_trace,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    change_to(None)


def write(folder, **texts):
    """Write Python files; __ in their names stands for a slash."""
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


SCRIPT = """
a = 1
b: int = a + 1
c, d = 3, 4
(e, f) = [5, 6]
g = h = 7
x.y = 8
b += 1
for i in range(2):
    k = i
def inside():
    local = 9
class Kept:
    attribute = 10
lazy = lambda: (yes := 11)
b * 2
"""


def test_assignments_at_the_top_level_are_recorded():
    bound, last = [], []
    names = {BIND_NAME: lambda value, *name: bound.append((*name, value)) or value, LAST_NAME: last.append}
    exec(instrument(SCRIPT, "s.py"), {**names, "x": type("Object", (), {})})
    found = {name: value for name, value in bound if name != "lazy"}
    assert [name for name, _ in bound].count("k") == 2
    assert found == {"a": 1, "b": 2, "c": 3, "d": 4, "g": 7, "h": 7, "k": 1}
    assert last == [6]  # b + 1, times 2
    with pytest.raises(SyntaxError):
        instrument("def f(:", "s.py")


def test_names_of_the_last_statement():
    assert last_names("a\nloss = f(x, y)") == ["loss", "y", "x", "f"]
    assert last_names("(a + b).sum()") == ["b", "a"]
    assert last_names("") == []


def test_a_syntax_error_has_a_location():
    source = "x = 1\ny = = 2\n"
    with pytest.raises(SyntaxError) as raised:
        compile(source, "s.py", "exec")
    error = python_syntax_error(raised.value, "s.py", source)
    assert (error.message, error.kind) == ("s.py is not valid Python: invalid syntax", "syntax")
    assert (error.span.line, error.span.text, error.span.origin) == (2, "y = = 2", "s.py")
    assert error.span.text[error.span.column - 1] == "="


def test_a_module_is_found_next_to_the_file_that_imports_it(folder):
    write(folder, a__main="import helper", a__helper="WHERE = 'a'", b__main="import helper", b__helper="WHERE = 'b'")
    folders = Folders()
    first, second = (load_module(f"{name}/main.py", folders=folders) for name in "ab")
    assert (first.helper.WHERE, second.helper.WHERE) == ("a", "b")
    assert "helper" not in sys.modules and str(folder / "a") not in sys.path
    assert folders.of("a/other.py") is folders.of("a/main.py") is not folders.of("b/main.py")
    with folders.of("b/main.py"):
        assert sys.modules["helper"].WHERE == "b" and sys.path[0] == str(folder / "b")


def test_a_file_in_a_package_is_imported_as_part_of_it(folder):
    write(folder, pkg__base="B = 3", pkg__sub__net="from ..base import B\nimport pkg")
    for place, text in [("pkg", ""), ("pkg/sub", "LOADED = []")]:
        (folder / place / "__init__.py").write_text(text)
    assert root_of("pkg/sub/net.py") == str(folder)
    module = load_module("pkg/sub/net.py", folders=Folders())
    assert (module.__name__, module.B, module.pkg.sub.LOADED) == ("pkg.sub.net", 3, [])


def test_a_file_may_have_the_name_of_a_library(folder):
    sys.modules.pop("colorsys", None)
    write(folder, colorsys="MINE = True", use="from colorsys import MINE")
    folders = Folders()
    assert load_module("colorsys.py", folders=folders).MINE
    assert load_module("use.py", folders=folders).MINE
    import colorsys  # the user's own is visible only to the user's files

    assert hasattr(colorsys, "rgb_to_hsv")


def test_a_file_that_raises_is_named_and_its_modules_are_removed(folder):
    write(folder, bad="import helper\n\ndef f(x):\n    return x / 0\n\nf(1)\n", helper="")
    before = set(sys.modules)
    with pytest.raises(TargetError) as raised:
        load_module("bad.py", folders=Folders())
    error = raised.value
    assert error.message.startswith("bad.py raised ZeroDivisionError: division by zero\n")
    assert '  File "bad.py", line 6, in <module>\n' in error.message and "user_code" not in error.message
    assert error.cause_line == ("bad.py", 4) and isinstance(error.cause, ZeroDivisionError)
    assert not {"bad", "helper"} & (set(sys.modules) - before)
    write(folder, bad="VALUE = 2")
    assert load_module("bad.py", folders=Folders()).VALUE == 2  # from the source, not from a .pyc


def test_a_file_that_is_loaded_already_is_not_executed_again(folder):
    write(folder, once="import builtins\nbuiltins.counted = getattr(builtins, 'counted', 0) + 1")
    folders = Folders()
    assert load_module("once.py", folders=folders) is load_module("./once.py", folders=folders)
    import builtins

    assert vars(builtins).pop("counted") == 1


def test_printed_text_goes_to_the_given_stream(folder, capsys):
    import io

    text = io.StringIO()
    write(folder, noisy="print('heard')")
    load_module("noisy.py", text, Folders())
    assert (text.getvalue(), capsys.readouterr().out) == ("heard\n", "")


def test_surroundings_stay_in_place_without_folders(folder):
    write(folder, main="import helper", helper="")
    load_module("main.py")
    assert "helper" in sys.modules and Surroundings.current.root == str(folder)
    change_to(None)
    assert "helper" not in sys.modules and Surroundings.current is None


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad"), "f.py raised ValueError: bad"),
        (SystemExit(3), "it exited with status 3"),
        (SystemExit("no data"), "it ended: no data"),
        (GeneratorExit(), "f.py raised GeneratorExit"),
    ],
)
def test_an_exception_in_user_code_is_a_target_error(error, message):
    with pytest.raises(TargetError) as raised, blame_user_code("f.py", "it"):
        raise error
    assert raised.value.message.split("\n")[0] == message and raised.value.exit_code == 3


@pytest.mark.parametrize("error", [GradcliError("ours"), KeyboardInterrupt(), TimeIsUp()])
def test_other_errors_pass_unchanged(error):
    with pytest.raises(type(error)) as raised, blame_user_code("f.py", "it"):
        raise error
    assert raised.value is error


def test_notes_of_an_exception_are_reported():
    error = ValueError("bad")
    error.add_note("see the manual")
    with pytest.raises(TargetError, match="ValueError: bad\n  see the manual"), blame_user_code("f.py", "it"):
        raise error


def test_an_exception_that_cannot_be_printed_is_named():
    class OddError(Exception):
        def __str__(self):
            raise RuntimeError

    with pytest.raises(TargetError, match=r"f\.py raised OddError"), blame_user_code("f.py", "it"):
        raise OddError


def test_a_missing_module_has_a_hint(folder):
    write(folder, lib__there="", sub__main="")
    here = hint_on_import(ModuleNotFoundError(name="lib"), "sub/main.py")
    assert here == f"it is in {folder}: put PYTHONPATH={folder} before the command"
    gone = hint_on_import(ModuleNotFoundError(name="gone.part"), "sub/main.py")
    assert gone.startswith(f"it is neither in {folder / 'sub'} nor installed for {sys.executable}")
    assert "--torch" in hint_on_import(ModuleNotFoundError(name="torch"), "sub/main.py") and "--torch" not in gone
    assert hint_on_import(ImportError("cannot import name"), "sub/main.py") is None


def test_tracebacks_show_only_frames_of_the_user(folder):
    write(folder, deep="import json\ndef f():\n    json.loads('{')\ndef g():\n    f()\ndef h():\n    return 1 / 0\n")
    module = load_module("deep.py", folders=Folders())
    with pytest.raises(ValueError, match="Expecting") as raised:
        module.g()
    trace = users_trace(raised.value)
    places = re.findall(r'File "(.*)", line (\d+), in (\w+)', trace)
    assert places[-2:] == [("deep.py", "5", "g"), ("deep.py", "3", "f")] and len(places) == 3  # one is in this test
    assert "json/" not in trace and not raised_by_user(raised.value)  # the library raised it
    with pytest.raises(ZeroDivisionError) as raised:
        module.h()
    assert raised_by_user(raised.value)
    assert [is_users(file) for file in ("<string>", sys.modules["json"].__file__, "deep.py")] == [False, False, True]
    assert users_path(str(folder / "deep.py")) == "deep.py" and users_path("/else/f.py") == "/else/f.py"
    assert users_trace(None) == ""


def test_the_place_of_a_return_statement(folder):
    write(folder, op="class Op:\n    def backward(ctx, g):\n        h = 2 * g\n        return h\n")
    backward = load_module("op.py", folders=Folders()).Op.backward
    assert place_of_return(backward) == "op.py:4\n    return h\n    ^^^^^^^^"
    assert place_of_return(backward, last=3).startswith("op.py:3\n    h = 2 * g\n")
    assert place_of_return(len) == "len"


def test_finding_a_name_in_a_module(folder):
    write(folder, f="class Net:\n    def forward(self): ...\nnet = Net()\nvalue = 3\nμ = 4\n")
    module = load_module("f.py", folders=Folders())
    assert find_in(module, "f.py", "Net.forward") is module.Net.forward
    assert find_in(module, "f.py", "µ") == 4  # Python reads the micro sign as the Greek letter
    with pytest.raises(GradcliError, match=r"f\.py defines no 'forwrd'") as raised:
        find_in(module, "f.py", "Net.forwrd")
    assert raised.value.hint == "did you mean 'forward'?"
    with pytest.raises(GradcliError, match=r"f\.py:value is int, not a function"):
        check_callable(module.value, "f.py:value")


def test_exit_codes_in_words():
    assert [exit_text(code) for code in (0, 3, None, "no")] == [
        "exited with status 0",
        "exited with status 3",
        "ended: None",
        "ended: no",
    ]
