"""Numbers written in a program have the same meaning as numbers given as inputs."""

import math

import pytest
from numpy.testing import assert_allclose

from gradcli.errors import GradcliError
from gradcli.rules import full_table
from gradcli.rules.table import A

from .test_evaluate import value

# expression without inputs -> its value, from tables and from closed forms for half-integer orders
CLOSED = {
    "iv(0.5, 1)": math.sqrt(2 / math.pi) * math.sinh(1),
    "jv(0.5, 2)": math.sqrt(1 / math.pi) * math.sin(2),
    "kv(0.5, 1)": math.sqrt(math.pi / 2) * math.exp(-1),
    "gammainc(0.5, 1)": math.erf(1),
    "gammaincc(0.5, 1)": math.erfc(1),
    "zeta(2.5, 1)": 1.3414872572509171798,
    "polygamma(1, 1)": math.pi**2 / 6,
    "betainc(0.5, 0.5, 1)": 1.0,
}


@pytest.mark.parametrize("text", CLOSED)
def test_parameters_are_not_truncated_to_integers(text):
    assert_allclose(value(text), CLOSED[text], rtol=1e-13)


def calls_of_numbers():
    """Return (call with names, call with numbers) for the table's samples that take only numbers."""
    found = []
    for entry in full_table().values():
        for sample in entry.samples:
            if entry.public and not sample.kwargs and all(isinstance(x, A | int | float) for x in sample.args):
                named = [f"v{i}" if isinstance(x, A) else repr(x) for i, x in enumerate(sample.args)]
                written = [f"{i + 1}" if isinstance(x, A) else repr(x) for i, x in enumerate(sample.args)]
                found.append((f"{entry.name}({', '.join(named)})", f"{entry.name}({', '.join(written)})"))
    return sorted(set(found))


@pytest.mark.parametrize(("named", "written"), calls_of_numbers())
@pytest.mark.filterwarnings("ignore")
def test_literal_numbers_act_like_inputs(named, written):
    try:
        expected = value(named, v0=1.0, v1=2.0, v2=3.0)
    except GradcliError:
        with pytest.raises(GradcliError):  # a matrix is required
            value(written)
        return
    got = value(written)
    assert got.shape == expected.shape
    assert_allclose(got, expected, rtol=1e-14)
