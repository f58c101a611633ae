"""A script: ordinary Python that builds its graph as it runs, here Newton's iteration for a square root.

How often the loop runs depends on the data: the graph is that of this very run. The derivative of sqrt(a) is
1 / (2 sqrt(a)). Its leaves are the inputs, so `gradcli grad samples/script.py a=9` runs it at another point.
"""

import gradcli

a = gradcli.tensor(2.0, requires_grad=True)
guess = gradcli.tensor(1.0)
while abs(guess.item() ** 2 - a.item()) > 1e-12:
    guess = (guess + a / guess) / 2
root = guess
