"""A function as a target: its parameters are the inputs.

gradcli grad samples/function.py:rosenbrock x=-1 y=2
"""


def rosenbrock(x, y, a=1.0, b=100.0):
    """The banana valley, with its minimum at (a, a^2)."""
    return (a - x) ** 2 + b * (y - x**2) ** 2
