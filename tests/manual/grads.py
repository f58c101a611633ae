"""A function and its gradient by hand: what the manual's examples call grads.py."""


def f(x):
    return (x**3).sum()


def g(x):
    return 3 * x**2
