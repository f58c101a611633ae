"""Values find their parameters by name, and the arrays inside of nested ones have paths."""

import inspect
from typing import NamedTuple

import numpy as np
import pytest

from gradcli.errors import GradcliError
from gradcli.program.arguments import (
    Arguments,
    OutputPart,
    by_name,
    by_path,
    element_at,
    expand_paths,
    is_named,
    named_parameters,
    pass_by_name,
)


def test_values_go_to_the_parameters_of_their_names():
    def f(a, /, b, *, c):
        return a, b, c

    assert by_name(f, ["c", "a", "b"])(3, 1, 2) == (1, 2, 3)
    assert by_name(f, ["a", "b"]) is f  # that is its order
    assert by_name(f, ["a", "d"]) is f  # it has no d
    assert by_name(lambda ctx, x, y: (ctx, x, y), ["y", "x"], first=1)("ctx", 2, 1) == ("ctx", 1, 2)
    assert pass_by_name(inspect.signature(f).parameters.values(), {"c": 3, "a": 1}) == ([1], {"c": 3})


def test_starred_parameters_have_no_names():
    assert [p.name for p in named_parameters(lambda x, *more, y=1, **others: x, "f")] == ["x", "y"]
    with pytest.raises(GradcliError, match=r"f takes \*xs and \*\*more: its inputs have no names"):
        named_parameters(lambda *xs, **more: xs, "f")


class Pair(NamedTuple):
    w: np.ndarray
    n: int


def test_arrays_inside_of_arguments_are_inputs_by_path():
    tree = {"x": 1.5, "p": {"pair": Pair(np.ones(2), 3), 0: [np.zeros(1), "text"]}, "i": np.arange(3)}
    arguments = Arguments(tree)
    assert list(arguments.arrays) == ["x", "p.pair[0]", "p[0][0]"]
    filled = arguments.fill_in({"p[0][0]": "new"}, lambda array: array.tolist())
    assert filled == {"x": 1.5, "p": {"pair": Pair([1.0, 1.0], 3), 0: ["new", "text"]}, "i": [0, 1, 2]}
    assert list(Arguments(tree, wrt=["p[0]"]).arrays) == ["p[0][0]"]


def test_values_by_path_are_nested():
    assert by_path({"p.w[1]": 2, "p.w[0]": 1, "x": 3}) == {"p": {"w": [1, 2]}, "x": 3}
    for given, message in [
        ({"w[1]": 1}, r"'w' lacks its element w\[0\]"),
        ({"w": 1, "w[0]": 2}, r"'w\[0\]' lies below a value that is given as a whole"),
        ({"w[0]": 2, "w": 1}, "'w' is given as a whole and by its parts"),
    ]:
        with pytest.raises(GradcliError, match=message):
            by_path(given)


def test_a_name_stands_for_what_is_below_it_alone():
    paths = ["w", "w2", "net.w", "net.b[0]"]
    assert expand_paths(["net", "w", "nonesuch"], paths) == ["net.w", "net.b[0]", "w", "nonesuch"]
    assert expand_paths(None, paths) == paths
    assert [is_named("w2", wrt) for wrt in (None, ["w"], ["w2"], [])] == [True, False, True, False]


def test_rows_of_a_joined_output_name_its_elements():
    parts = [OutputPart(("loss",), (), False), OutputPart(("z", 1), (2, 2), True), OutputPart((), (3,), False)]
    found = [element_at(parts, row) for row in (0, 1, 2, 7, 8, 11)]
    first, last = ("z", 1, 0, 0), ("z", 1, 1, 1)
    assert found == [(("loss",), ""), (first, "re"), (first, "im"), (last, "re"), (last, "im"), ((2,), "")]
    with pytest.raises(IndexError):
        element_at(parts, 12)
