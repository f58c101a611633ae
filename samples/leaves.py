"""Leaves and intermediate results: backward fills only the gradients of leaves.

`retain_grad` also keeps the gradient of an intermediate result. Run it with `gradcli grad
samples/leaves.py`, or with plain `python`.
"""

import gradcli

x = gradcli.tensor(3.0, requires_grad=True)
y1 = x + 1
y2 = 2 * x
loss = (y1 - y2) ** 2

y1.retain_grad()
loss.backward()

print("is_leaf:", x.is_leaf, y1.is_leaf, y2.is_leaf, loss.is_leaf)
print("gradient of y1:", y1.grad)
