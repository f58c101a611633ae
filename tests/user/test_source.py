"""The source of a function: where it is, its text, and its code after edits."""

import importlib.util
import textwrap

import pytest

from gradcli.errors import GradcliError
from gradcli.user.source import Edit, apply_edits, source_of

MODULE = '''
from __future__ import annotations
import functools
import numpy as np


def plain(x):
    """Twice ü x."""
    return 2 * x  # ü


def outer(k):
    class Inner:
        @staticmethod
        def scaled(x):
            y = x * k \\
                + 1
            return y
    return Inner.scaled


scaled = outer(3)


@functools.wraps(plain)
def wrapper(*args):
    return plain(*args)


def short(x): return x + 1


twice = lambda x: 2 * x
'''


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "targets_of_edits.py"
    path.write_text(textwrap.dedent(MODULE), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("targets_of_edits", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def replaced(source, old, new):
    """Install the code of a function with a piece of its text replaced."""
    start, _ = source.definition
    place = source.text.index(old, start)
    return source.compile([Edit(place, place + len(old), new)])


@pytest.mark.parametrize(
    ("name", "old", "new", "value"),
    [
        ("plain", "2 * x", "5 * x", 10.0),
        ("scaled", "+ 1", "- 1", 5.0),
        ("short", "x + 1", "x - 1", 1.0),
        ("wrapper", "2 * x", "7 * x", 14.0),
    ],
)
def test_edited_code_runs_in_the_function(module, name, old, new, value):
    source = source_of(getattr(module, name), name)
    source.function.__code__ = replaced(source, old, new)
    assert getattr(module, name)(2.0) == value


def test_offsets_count_characters_and_not_bytes(module):
    source = source_of(module.plain, "plain")
    assert source.segment(source.node.body[-1]) == "return 2 * x"
    assert source.text[slice(*source.definition)].endswith("return 2 * x")


def test_edits_do_not_move_each_other():
    assert apply_edits("a + b", [Edit(0, 1, "long"), Edit(4, 5, "c")]) == "long + c"


def test_a_lambda_is_refused(module):
    with pytest.raises(GradcliError, match="twice is a lambda"):
        source_of(module.twice, "twice")


@pytest.mark.parametrize("function", [len, dict.get, eval("lambda x: x"), int])
def test_a_function_without_source_is_refused(function):
    with pytest.raises(GradcliError, match=r"no source|not a Python function"):
        source_of(function, "it")


def test_code_from_exec_is_refused():
    space = {}
    exec("def made(x):\n    return x", space)
    with pytest.raises(GradcliError, match="made has no source file"):
        source_of(space["made"], "made")


@pytest.mark.parametrize("old, new", [("2 * x", "3 * x"), ("def plain", "\n\ndef plain"), ("def plain", "def gone")])
def test_a_file_that_changed_after_loading_is_refused(module, old, new):
    path = module.__file__
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new, 1))
    with pytest.raises(GradcliError, match=r"changed after|no definition of"):
        source_of(module.plain, "plain")


def test_a_file_that_cannot_be_parsed_any_more_is_refused(module):
    with open(module.__file__, "a", encoding="utf-8") as file:
        file.write("\nx = (\n")
    with pytest.raises(GradcliError, match="cannot be parsed"):
        source_of(module.plain, "plain")
