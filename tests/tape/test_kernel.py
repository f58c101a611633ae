"""The kernel: the functions that the page on differentiation names exist, and are few enough to read first."""

import ast
import re

import pytest

from ..command import ROOT

PAGE = (ROOT / "man/site/pages/differentiation.md").read_text()
ROWS = re.findall(r"^\| .* \| (`.*) \| `(.*)` \|$", PAGE, re.M)
NEXT = r", (?![^(]*\))"  # a comma that is not in parentheses
MOST_LINES = 600


def bodies(path: str) -> dict[str, ast.AST]:
    """Return the functions and classes of a module by name."""
    tree = ast.parse((ROOT / path).read_text())
    return {part.name: part for part in tree.body if isinstance(part, ast.FunctionDef | ast.ClassDef)}


def length(part: ast.AST) -> int:
    first = min([part.lineno, *(x.lineno for x in part.decorator_list)])
    return part.end_lineno - first + 1


def lines_of(named: str, found: dict[str, ast.AST]) -> int:
    """Count the lines of a function or class, or of the beginning of a class and some of its methods."""
    name, *methods = re.findall(r"`(\w+)`", named)
    if not methods:
        return length(found[name])
    inside = [part for part in found[name].body if isinstance(part, ast.FunctionDef)]
    assert set(methods) <= {part.name for part in inside}
    start = min(length.lineno for length in (inside[0], *inside[0].decorator_list))
    return start - found[name].lineno + sum(length(part) for part in inside if part.name in methods)


def test_the_kernel_is_short():
    counted = {(path, named): lines_of(named, bodies(path)) for names, path in ROWS for named in re.split(NEXT, names)}
    assert len(counted) >= 25
    assert 300 <= sum(counted.values()) <= MOST_LINES, counted


@pytest.mark.parametrize(("names", "path"), ROWS, ids=lambda text: text[:20])
def test_what_the_kernel_names_exists_and_has_a_docstring_or_is_short(names, path):
    found = bodies(path)
    for name in re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", names)):
        assert ast.get_docstring(found[name]) or length(found[name]) <= 4, name


def test_the_page_says_how_many_lines_it_names():
    assert f"the functions to read first: {MOST_LINES} lines of code" in PAGE
