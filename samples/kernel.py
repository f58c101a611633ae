"""A compiled C kernel as a custom Function, called through ctypes and checked like any other.

Build the kernel first, in this folder: cc -O2 -shared -fPIC -o kernel.so kernel.c -lm
Then: gradcli gradcheck kernel.py:Swish x='[-1, 0, 2]'   or   gradcli grad kernel.py
"""

import ctypes
import os
import sys
from pathlib import Path

import numpy as np

import gradcli
from gradcli.autograd import Function

LIBRARY = Path(os.environ.get("KERNEL_LIBRARY", Path(__file__).with_name("kernel.so")))
if not LIBRARY.exists():
    sys.exit(f"{LIBRARY} is missing; build it: cc -O2 -shared -fPIC -o kernel.so kernel.c -lm")
kernel = ctypes.CDLL(str(LIBRARY))
doubles = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
kernel.swish.argtypes = [doubles, doubles, ctypes.c_size_t]
kernel.swish_backward.argtypes = [doubles, doubles, doubles, ctypes.c_size_t]


def contiguous(tensor):
    """Return a tensor's numbers as a contiguous array of doubles."""
    return np.ascontiguousarray(tensor.detach().numpy(), np.float64)


class Swish(Function):
    """x / (1 + exp(-x)), forward and backward in C."""

    @staticmethod
    def forward(ctx, x):
        """Call the kernel."""
        ctx.save_for_backward(x)
        data = contiguous(x)
        out = np.empty_like(data)
        kernel.swish(data, out, data.size)
        return gradcli.from_numpy(out)

    @staticmethod
    @gradcli.autograd.function.once_differentiable
    def backward(ctx, grad):
        """Call the kernel's backward pass."""
        (x,) = ctx.saved_tensors
        data, incoming = contiguous(x), contiguous(grad)
        out = np.empty_like(data)
        kernel.swish_backward(data, incoming, out, data.size)
        return gradcli.from_numpy(out)


x = gradcli.tensor([-1.0, 0.0, 2.0], requires_grad=True)
loss = Swish.apply(x).sum()
loss.backward()
