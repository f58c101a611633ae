"""A script is ordinary Python that builds its graph as it runs, here Newton's iteration for a square root.

The number of iterations depends on the data, and the graph records those of this run. The derivative of sqrt(a) is
1 / (2 sqrt(a)). The leaves are the inputs: `gradcli grad samples/script.py a=9` runs the script at another point.
"""

import gradcli

a = gradcli.tensor(2.0, requires_grad=True)
guess = gradcli.tensor(1.0)
while abs(guess.item() ** 2 - a.item()) > 1e-12:
    guess = (guess + a / guess) / 2
root = guess
