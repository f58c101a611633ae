"""A declared check, for `gradcli gradcheck tests/`."""

import gradcli


@gradcli.check(at={"x": (3,)}, grad=lambda x: 2 * x)
def square(x):
    return (x**2).sum()
