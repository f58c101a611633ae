"""What is read from the code of functions."""

from gradcli.user.frameworks import constants_in_code, names_in


def test_constants_in_code_are_those_that_it_loads():
    """Small whole numbers, too: Python 3.14 keeps them in the instructions."""

    def f(x):
        return 49 * x + 0.3 if x else 7

    assert constants_in_code(f.__code__) == [49, 0.3, 7]


def test_names_in_code_are_those_of_nested_functions_too():
    def f(x):
        return [y.detach() for y in x], lambda y: y + x.numpy()

    assert {"detach", "numpy"} <= set(names_in(f.__code__))
