"""One gradient is nan, one is None, and one is fine: `gradcli why samples/why.py` explains why.

The script also runs with plain `python`.
"""

import gradcli

x = gradcli.tensor([0.0, 4.0], requires_grad=True)
w = gradcli.tensor([0.5, 1.5], requires_grad=True)
v = gradcli.tensor(2.0, requires_grad=True)

root = gradcli.where(x > 0, gradcli.sqrt(x), 0.0)
scale = gradcli.tensor(w.sum().item())
loss = (root * scale * v).sum()
loss.backward()

print("x.grad:", x.grad, "w.grad:", w.grad, "v.grad:", v.grad)
