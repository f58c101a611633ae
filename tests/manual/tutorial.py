"""A tutorial in PyTorch's words: what the manual's examples call tutorial.py."""

import torch

x = torch.ones(2, requires_grad=True)
y = (x * 3).sum()
y.backward()
print(x.grad)
