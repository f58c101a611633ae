"""Which functions take arrays, so that their methods have NumPy's meaning."""

import itertools

import numpy as np
import pytest

from gradcli.errors import TargetError
from gradcli.program.meaning import is_same_result, means_arrays, takes_arrays
from gradcli.tape.modes import methods_of_arrays
from gradcli.tape.tensor import Tensor
from gradcli.user.loading import change_to

NUMBER = itertools.count()
METHOD = "def f(x):\n    return x.var()\n"


@pytest.fixture
def function(tmp_path, monkeypatch):
    """Return a function `f` of a file with this text, imported as a module."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(text):
        name = f"of_meaning_{next(NUMBER)}"
        (tmp_path / f"{name}.py").write_text(text)
        return __import__(name).f

    yield make
    change_to(None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"import numpy as np\n{METHOD}", True),
        (f"from numpy import exp\n{METHOD}", True),
        (f"import scipy.special as sc\n{METHOD}", True),
        (f"import numpy as np\nX = np.ones(3)\ndef g(x):\n    return x.var()\n{METHOD}", True),
        (METHOD, None),
        (f"import math\n{METHOD}", None),
        (f"import numpy as np\nimport gradcli\n{METHOD}", None),
        (f"import numpy as np\nfrom gradcli import check\n{METHOD}", None),
        ("import numpy as np\nimport gradcli\ndef f(x):\n    return gradcli.exp(x).var()\n", False),
        ("import numpy as np\nfrom gradcli import exp\ndef f(x):\n    return exp(x).var()\n", False),
        ("import numpy as np\nfrom gradcli import Tensor\ndef f(x: Tensor):\n    return x.var()\n", False),
        ("import numpy as np, gradcli\nW = gradcli.ones(3)\ndef f(x):\n    return (W * x).var()\n", False),
        (
            "import numpy as np, gradcli\ndef g(x):\n    return gradcli.exp(x)\ndef f(x):\n    return g(x).var()\n",
            False,
        ),
    ],
)
def test_a_file_or_the_code_shows_what_a_function_takes(function, text, expected):
    assert takes_arrays(function(text)) is expected


def meaning(f, at=np.array([1.0, 2.0, 4.0])):
    return means_arrays(f, "f", lambda convert: f(convert(at)))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x.max(axis=0).sum()", True),  # only on arrays
        ("x.sort()[0].sum()", False),  # only on tensors
        ("x.mean() * x.sum()", False),  # the same
        ("(x.sum(), x.max())", False),
        ("x * 2", False),  # no method
        ("x.var() + random.random()", False),  # no value to compare
    ],
)
def test_if_the_meaning_is_open_both_are_tried(function, body, expected):
    assert meaning(function(f"import random\ndef f(x):\n    return {body}\n")) is expected


@pytest.mark.parametrize("body", ["x.var()", "x / x.std()", "x.sum() + x.reshape(3, 1).repeat(2, 1).shape[0]"])
def test_a_difference_is_an_error_if_the_meaning_is_open(function, body):
    f = function(f"def f(x):\n    return {body}\n")
    with pytest.raises(TargetError, match=r"f: methods in it \(.*\) give another value for NumPy's arrays"):
        meaning(f)
    assert meaning(function(f"import numpy as np\ndef f(x):\n    return {body}\n")) is True


def test_what_is_known_needs_no_call(function):
    f = function(f"import numpy as np\n{METHOD}")
    assert means_arrays(f, "f", None) is True


def test_a_function_of_arrays_runs_with_their_methods(function):
    f = function(f"import numpy as np\n{METHOD}")
    x = Tensor._wrap(np.array([1.0, 2.0, 4.0]), None)
    assert float(methods_of_arrays()(f)(x)) == pytest.approx(14 / 9)
    assert float(methods_of_arrays(False)(f)(x)) == pytest.approx(7 / 3)


@pytest.mark.parametrize(
    ("x", "y", "close"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-9], True),
        ([1.0, 2.0], [1.0, 2.0 + 1e-6], False),
        ([1.0, 0.0], [1.0, 1e-12], True),
        ([np.inf, np.nan, 1.0], [np.inf, np.nan, 1.0], True),
        ([np.inf, 1.0], [np.inf, 2.0], False),
        ([1.0], 1.0, False),
        ([1], [2], False),
        ([True], [True], True),
    ],
)
def test_results_agree_in_half_of_their_digits(x, y, close):
    assert is_same_result(np.array(x), np.array(y)) is close
