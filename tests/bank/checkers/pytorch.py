"""PyTorch: torch.autograd.gradcheck of a Function whose backward is the claim."""

import torch


def judge(f, x, claimed):
    class Claimed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return torch.tensor(f(t.detach().numpy()), dtype=torch.double)

        @staticmethod
        def backward(ctx, g):
            return g * torch.tensor(claimed, dtype=torch.double)

    t = torch.tensor(x, dtype=torch.double, requires_grad=True)
    return "pass" if torch.autograd.gradcheck(Claimed.apply, (t,), raise_exception=False) else "fail"
