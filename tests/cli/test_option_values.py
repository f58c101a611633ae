"""The counts, numbers, names, lists and shapes that options accept."""

import click
import numpy as np
import pytest

from gradcli.cli.main import COMMANDS, cli, main
from gradcli.cli.option_values import (
    MOST_COUNTED,
    Count,
    as_delimiter,
    as_finite,
    as_name,
    as_names,
    as_pass,
    as_positive,
    as_share,
    dimensions_of,
    once,
    one_or_all,
    shapes_of,
)
from gradcli.errors import GradcliError

EVERY = [(name, param) for name in COMMANDS for param in cli.get_command(click.Context(cli), name).params]
COUNTS = [(name, param) for name, param in EVERY if isinstance(param.type, click.types.IntParamType)]


@pytest.mark.parametrize(("command", "option"), COUNTS, ids=lambda x: getattr(x, "name", x))
def test_counts_have_bounds(command, option, capsys):
    assert isinstance(option.type, Count)
    least, most = option.type.min, option.type.max
    for wrong in (most + 1, least - 1):
        assert main([command, "x*x", "x=2", f"{option.opts[-1]}={wrong}"]) == 2
        expected = f"{wrong} is not " + (f"{least} or more" if most == MOST_COUNTED else f"between {least} and {most}")
        assert expected in capsys.readouterr().err


@pytest.mark.parametrize(("text", "count"), [("7", 7), ("1e3", 1000), ("2E+1", 20), (" 5 ", 5), ("1000", 1000)])
def test_a_count_may_be_a_power_of_ten(text, count):
    assert Count(1000).convert(text, None, None) == count


@pytest.mark.parametrize("text", ["", "1.5", "1e-3", "1e", "e3", "1e4", "0", "-1", "nan", "1e999"])
def test_invalid_and_out_of_range_counts_are_refused(text):
    with pytest.raises(click.BadParameter, match=r"is not (a whole number|between 1 and 1000)"):
        Count(1000).convert(text, None, None)


READ = [  # (reader of an option, text, value)
    (as_finite, None, None),
    (as_finite, "0", 0.0),
    (as_finite, "1e-3", 1e-3),
    (as_positive, "2", 2.0),
    (as_pass, None, None),
    (as_pass, "last", 0),
    (as_pass, "12", 12),
    (as_name, None, None),
    (as_name, "µ", "μ"),  # NFKC, as Python reads names: the micro sign is the Greek letter
    (as_name, ("a", "ﬁ"), ("a", "fi")),
    (once, (), None),
    (once, ("x",), "x"),
    (one_or_all, (), None),
    (one_or_all, ("g",), "g"),
    (one_or_all, ("x=2*x", "y=1"), ("x=2*x", "y=1")),
    (as_names, (), None),
    (as_names, ("x, y", "z"), ["x", "y", "z"]),
    (as_names, ("x,,y,",), ["x", "y"]),
    (as_share, "3/16", (3, 16)),
    (as_share, "1/1", (1, 1)),
    (as_delimiter, None, None),
    (as_delimiter, ";", ";"),
    (as_delimiter, "\\t", "\t"),
    (as_delimiter, " ", " "),
]


@pytest.mark.parametrize(("read", "text", "expected"), READ)
def test_option_values_are_read(read, text, expected):
    assert read(None, None, text) == expected


REFUSED = [
    *((as_finite, text, "not a finite number of at least 0") for text in ("-1", "nan", "inf", "1e999", "x", "")),
    *((as_positive, text, "not a finite number above 0") for text in ("0", "-0.0", "-2")),
    *((as_pass, text, "nor a number of at least 1") for text in ("0", "-1", "first", "1.0", "²", "٣", "")),
    *((as_names, text, "no names given") for text in [("",), (" , ",), ("x", "")]),
    *((as_share, text, "not K/N") for text in ("0/3", "4/3", "3", "3/", "/3", "a/b", "-1/3", "1/2/3")),
    *((as_delimiter, text, "cannot separate cells") for text in ("", ";;", "a", "1", ".", "-", "+", '"', "\n", "e")),
    (once, ("x", "y"), "given more than once"),
]


@pytest.mark.parametrize(("read", "text", "message"), REFUSED)
def test_invalid_option_values_are_refused(read, text, message):
    with pytest.raises(click.BadParameter, match=message):
        read(None, None, text)


def test_shapes_are_lengths_by_name():
    texts = ("x=3,4", "y=", "z=2,", "µ=0")
    assert shapes_of(texts, 100, ()) == {"x": (3, 4), "y": (), "z": (2,), "μ": (0,)}


@pytest.mark.parametrize(
    ("texts", "message", "kind"),
    [
        (("x",), "write NAME=LENGTHS", "usage"),
        (("=3",), "write NAME=LENGTHS", "usage"),
        (("x=3,,4",), "write NAME=LENGTHS", "usage"),
        (("x=-3",), "write NAME=LENGTHS", "usage"),
        (("x=m",), "write NAME=LENGTHS", "usage"),
        (("x=٣",), "write NAME=LENGTHS", "usage"),
        (("x=3", "x=4"), "'x' is given twice", "usage"),
        (("v=3",), "'v' is given a value and a shape", "usage"),
        (("x=20,30",), "600 elements; the limit is 100", "limit"),
        (("x=" + "1," * 70,), "70 axes, but NumPy allows only", "limit"),
    ],
)
def test_invalid_shapes_are_refused(texts, message, kind):
    with pytest.raises(GradcliError, match=message) as raised:
        shapes_of(texts, 100, ("v",))
    assert raised.value.kind == kind


def test_dimensions_may_be_names():
    given = {"b": np.zeros((3, 1)), "c": np.float64(1)}
    assert dimensions_of(("A=m, n", "x=n,", "k=2"), given) == {
        "A": ("m", "n"),
        "x": ("n",),
        "k": (2,),
        "b": (3, 1),
        "c": (),
    }
    for texts, values, message in [
        (("A=m,n,k",), {}, "supports only numbers, vectors and matrices"),
        (("A=0",), {}, "write NAME=LENGTHS"),  # an empty array has no matrix form
        (("A=m+1",), {}, "write NAME=LENGTHS"),
        ((), {"T": np.zeros((1, 2, 3))}, "'T' has 3 axes"),
    ]:
        with pytest.raises(GradcliError, match=message):
            dimensions_of(texts, values)
