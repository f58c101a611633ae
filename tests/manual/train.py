"""A loss and its backward pass, for examples in the manual."""

import gradcli

w = gradcli.tensor(0.1, requires_grad=True)
x = gradcli.tensor([1.0, 2.0, 3.0])
loss = ((w * x - 2 * x) ** 2).mean()
loss.backward()
