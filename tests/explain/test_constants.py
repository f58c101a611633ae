"""Names of constants in the words of a diagnosis."""

import math
import re

import pytest

from gradcli.explain.constants import OF_LENGTH


@pytest.mark.parametrize(("word", "value"), OF_LENGTH, ids=[word for word, _ in OF_LENGTH])
def test_a_function_of_a_length_computes_what_its_name_says(word, value):
    expected = eval(re.sub(r"(\d)N", r"\1 * N", word), {"N": 7.0, "sqrt": math.sqrt})
    assert value(7.0) == pytest.approx(expected, rel=1e-14)
