"""A PyTorch tutorial, for examples in the manual."""

import torch

x = torch.ones(2, requires_grad=True)
y = (x * 3).sum()
y.backward()
print(x.grad)
