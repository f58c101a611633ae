"""Values are bound to parameters by name, and arrays inside nested values have paths."""

import functools
import inspect
import pickle
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import gradcli
from gradcli.errors import GradcliError
from gradcli.program.arguments import (
    Arguments,
    OutputPart,
    Path,
    annotation_name,
    arrays_in,
    as_array,
    bind,
    by_name,
    by_path,
    default_arrays,
    element_at,
    expand_paths,
    is_named,
    is_whole_number,
    layout_of,
    map_leaves,
    named_parameters,
    pass_by_name,
)


def test_values_are_passed_by_name():
    def f(a, /, b, *, c):
        return a, b, c

    assert by_name(f, ["c", "a", "b"])(3, 1, 2) == (1, 2, 3)
    assert by_name(f, ["a", "b"]) is f  # already in its order
    assert by_name(f, ["a", "d"]) is f  # f has no d
    assert by_name(lambda ctx, x, y: (ctx, x, y), ["y", "x"], first=1)("ctx", 2, 1) == ("ctx", 1, 2)
    assert pass_by_name(inspect.signature(f).parameters.values(), {"c": 3, "a": 1}) == ([1], {"c": 3})


def test_starred_parameters_have_no_names():
    assert [p.name for p in named_parameters(lambda x, *more, y=1, **others: x, "f")] == ["x", "y"]
    with pytest.raises(GradcliError, match=r"f takes only \*xs and \*\*more, so its inputs have no names"):
        named_parameters(lambda *xs, **more: xs, "f")


@pytest.mark.parametrize(
    ("name", "keys"),
    [("x", ("x",)), ("layers[0].w", ("layers", 0, "w")), ("p[0][12]", ("p", 0, 12)), ("0.weight", ("0", "weight"))],
)
def test_a_path_is_printed_as_it_is_parsed(name, keys):
    path = Path.parse(name)
    assert path == keys and str(path) == name
    assert type(pickle.loads(pickle.dumps(path))) is Path
    assert str(path.below("b").below(3)) == f"{name}.b[3]"


def test_a_key_that_is_not_a_name_is_printed_as_an_index():
    assert [str(Path(["p", key])) for key in ("w", 2, -1, 1.5, None)] == ["p.w", "p[2]", "p[-1]", "p[1.5]", "p[None]"]


class Pair(NamedTuple):
    w: np.ndarray
    n: int


@dataclass(frozen=True)
class Layer:
    w: object
    b: object = 1.0


def test_leaves_are_replaced_in_a_copy_of_the_same_types():
    tree = {"a": [Layer(2, (3,)), None], "pair": Pair("w", 4), "numbers": [[5, 6], [7]], "none": {}, "empty": []}
    seen = {}
    copied = map_leaves(lambda path, x: seen.setdefault(str(path), x) and str(path), tree)
    assert seen == {
        "a[0].w": 2,
        "a[0].b[0]": 3,
        "a[1]": None,
        "pair[0]": "w",
        "pair[1]": 4,
        "numbers": [[5, 6], [7]],
        "empty": [],
    }
    assert copied["a"][0] == Layer("a[0].w", ("a[0].b[0]",)) and tree["a"][0] == Layer(2, (3,))
    assert copied["pair"] == Pair("pair[0]", "pair[1]") and type(copied["pair"]) is Pair
    assert copied["none"] == {} and copied["numbers"] == "numbers"


def test_arrays_of_an_output_have_paths():
    result = {"loss": 1.5, 2: [3.5, "text"], (3, 4): ({"w": 5.5}, None)}
    found = list(arrays_in(result, lambda x: isinstance(x, float)))
    assert found == [(("loss",), 1.5), ((2, 0), 3.5), (("(3, 4)", 0, "w"), 5.5)]
    assert list(arrays_in(1.5, lambda x: isinstance(x, float))) == [((), 1.5)]


def test_arrays_inside_arguments_are_inputs_named_by_path():
    tree = {"x": 1.5, "p": {"pair": Pair(np.ones(2), 3), 0: [np.zeros(1), "text"]}, "i": np.arange(3)}
    arguments = Arguments(tree)
    assert list(arguments.arrays) == ["x", "p.pair[0]", "p[0][0]"]
    filled = arguments.fill_in({"p[0][0]": "new"}, lambda array: array.tolist())
    assert filled == {"x": 1.5, "p": {"pair": Pair([1.0, 1.0], 3), 0: ["new", "text"]}, "i": [0, 1, 2]}
    assert list(Arguments(tree, wrt=["p[0]"]).arrays) == ["p[0][0]"]


def test_values_by_path_are_nested():
    assert by_path({"p.w[1]": 2, "p.w[0]": 1, "x": 3}) == {"p": {"w": [1, 2]}, "x": 3}
    assert by_path({"p[1].b": 4, "p[0]": {"kept": {}}}) == {"p": [{"kept": {}}, {"b": 4}]}
    assert by_path({"p": {"kept": 1}, "p.w": 2}) == {"p": {"kept": 1, "w": 2}}
    assert by_path({}) == {}
    for given, message in [
        ({"w[1]": 1}, r"'w' is missing its element w\[0\]"),
        ({"w": 1, "w[0]": 2}, r"'w\[0\]' is part of a value that is also given as a whole"),
        ({"w[0]": 2, "w": 1}, "'w' is given both as a whole and in parts"),
        ({"p[0].w[1]": 1}, r"'p\[0\].w' is missing its element p\[0\].w\[0\]"),
    ]:
        with pytest.raises(GradcliError, match=message):
            by_path(given)


def test_a_name_includes_only_what_is_below_it():
    paths = ["w", "w2", "net.w", "net.b[0]"]
    assert expand_paths(["net", "w", "nonesuch"], paths) == ["net.w", "net.b[0]", "w", "nonesuch"]
    assert expand_paths(None, paths) == paths
    assert [is_named("w2", wrt) for wrt in (None, ["w"], ["w2"], [])] == [True, False, True, False]


def test_rows_of_a_joined_output_map_to_elements():
    parts = [OutputPart(("loss",), (), False), OutputPart(("z", 1), (2, 2), True), OutputPart((), (3,), False)]
    found = [element_at(parts, row) for row in (0, 1, 2, 7, 8, 11)]
    first, last = ("z", 1, 0, 0), ("z", 1, 1, 1)
    assert found == [(("loss",), ""), (first, "re"), (first, "im"), (last, "re"), (last, "im"), ((2,), "")]
    with pytest.raises(IndexError):
        element_at(parts, 12)


@dataclass
class Options:
    rate: float
    size: int = 2


def parameters_of(function):
    return list(inspect.signature(function).parameters.values())


def test_values_are_converted_as_parameters_declare():
    def f(options: Options, pair: "Pair", n: int, x=1.0):
        return options

    given = {"x": 2.0, "n": 3.0, "options": {"rate": 0.5}, "pair": {"w": 1, "n": 2}, "more": 7}
    found = bind(f, parameters_of(f), given, "f", whole=["n"], others=["more"])
    assert found == {"options": Options(0.5), "pair": Pair(1, 2), "n": 3, "x": 2.0, "more": 7}
    assert list(found) == ["options", "pair", "n", "x", "more"] and found["n"].dtype == np.int64
    assert bind(f, parameters_of(f), {**given, "n": 2.5}, "f", whole=["n"])["n"] == 2.5
    with pytest.raises(GradcliError, match=r"'options': .*unexpected keyword argument 'speed'"):
        bind(f, parameters_of(f), {**given, "options": {"speed": 1}}, "f", whole=[])


def test_fields_without_a_value_keep_their_defaults():
    def f(options=Options(1.0, 9)):
        return options

    assert bind(f, parameters_of(f), {"options": {"rate": 0.5}}, "f", whole=[]) == {"options": Options(0.5, 9)}


def test_an_error_for_missing_values_says_what_to_add():
    def method(self, x, y):
        return x

    with pytest.raises(GradcliError, match="f needs a value for 'y'") as raised:
        bind(method, parameters_of(method)[1:], {"x": 1.0}, "f", whole=[], more=" or --shape {}=3")
    assert raised.value.hint == "add to the command line: y=1 or --shape y=3"
    with pytest.raises(GradcliError) as raised:
        bind(method, parameters_of(method), {}, "net.py:Net.loss", whole=[])
    assert raised.value.hint == "make an instance in the file, model = Net(...), and write net.py:model.loss"


def test_default_arrays_are_inputs():
    def f(x, w=np.ones(2), t=np.array(3.0), n=np.arange(3), s=np.float64(2.0), k=1.0, names=("a",), b=None):
        return x

    assert list(default_arrays(parameters_of(f), [])) == ["w", "t"]  # numbers and integer arrays are constants
    assert list(default_arrays(parameters_of(f), ["w"])) == ["t"]


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (2, 2),
        ([1.0, 2.0], [1.0, 2.0]),
        (gradcli.tensor([1.0, 2.0], requires_grad=True), [1.0, 2.0]),
        (np.array([True]), [True]),
        ("1", None),
        (True, None),
        (None, None),
        ([[1], [2, 3]], None),
        (["a"], None),
        (np.sin, None),
        (np.array([None]), None),
    ],
)
def test_as_array_takes_only_numbers(x, expected):
    found = as_array(x)
    assert (found if found is None else found.tolist()) == expected


def test_the_layout_of_an_output_marks_complex_parts():
    output = {"loss": np.float64(1.0), 3: [np.ones(2), (np.ones(1, complex), "text")], "n": np.arange(2)}
    found = list(arrays_in(output, lambda x: isinstance(x, np.ndarray | np.float64) and x.dtype.kind in "fc"))
    parts = layout_of(found, np.iscomplexobj)
    assert [(part.path, part.shape, part.pairs, part.size) for part in parts] == [
        (("loss",), (), False, 1),
        ((3, 0), (2,), False, 2),
        ((3, 1, 0), (1,), True, 2),
    ]
    assert layout_of(found[1:2], np.iscomplexobj) == (OutputPart((), (2,), False),)  # a single part needs no path


def test_is_whole_and_annotation_name():
    assert is_whole_number(2.0) and is_whole_number(np.array([1.0, -3.0]))
    assert not any(map(is_whole_number, (2.5, np.nan, np.inf, 2)))  # 2 is an integer already
    assert [annotation_name(x) for x in ("torch.LongTensor", int, functools.partial)] == [
        "LongTensor",
        "int",
        "partial",
    ]
