"""Places of wrong elements in words."""

import numpy as np

from gradcli.explain.places import patterns_around


def test_patterns_around_elements_of_a_field_contain_them_and_include_their_box():
    wrong = np.zeros((4, 6), bool)
    wrong[1, 2] = wrong[2, 4] = True
    box = np.zeros((4, 6), bool)
    box[1:3, 2:5] = True
    patterns = list(patterns_around(wrong))
    assert not any((wrong & ~pattern).any() for pattern in patterns)
    assert any(np.array_equal(pattern, box) for pattern in patterns)
