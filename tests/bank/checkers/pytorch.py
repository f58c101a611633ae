"""PyTorch: torch.autograd.gradcheck of a Function whose backward is the claim."""

import torch


def judge(f, x, claimed, fast_mode=False):
    class Claimed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return torch.tensor(f(t.detach().numpy()), dtype=torch.double)

        @staticmethod
        def backward(ctx, g):
            return g * torch.tensor(claimed, dtype=torch.double)

    t = torch.tensor(x, dtype=torch.double, requires_grad=True)
    passes = torch.autograd.gradcheck(Claimed.apply, (t,), raise_exception=False, fast_mode=fast_mode)
    return "pass" if passes else "fail"
