"""A function and its handwritten gradient, for examples in the manual."""


def f(x):
    return (x**3).sum()


def g(x):
    return 3 * x**2
