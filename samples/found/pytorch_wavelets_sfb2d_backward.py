"""pytorch_wavelets 1.3.0: SFB2D.backward

As in SFB1D, the backward pass of the modes symmetric, reflect and periodic extends its incoming gradient as these modes
extend an image, but the synthesis does not. It is wrong near the edges, for filters with more than two taps.

Right: dy/dlow is the transposed synthesis: sum over m, n of g[m - 2 i + L - 2] g[n - 2 j + L - 2] dy[m, n], with zeros
outside
"""

import numpy as np
from released import in_floats, prove, require

import gradcli

LOW = [0.5, 0.75, 0.25, -0.125]  # any filter with four taps
HIGH = [-0.125, -0.25, 0.75, -0.5]
WEIGHTS = [0.25, -1.0, 0.75, 1.25, -0.5, 1.0]  # of rows and of columns of the result
AT = [
    0.2,
    -0.6,
    1.1,
    0.4,
    0.8,
    -0.3,
    0.5,
    0.1,
    0.7,
    -0.2,
    0.6,
    0.9,
    -0.8,
    0.3,
    -0.4,
    1.2,
]  # 4 by 4 lowpass coefficients


def tap(taps, k):
    return taps[k] if 0 <= k < len(taps) else 0


def weighted(k):
    """Return the sum of the results of one coefficient, along one axis."""
    return sum(w * tap(LOW, n - 2 * k + 2) for n, w in enumerate(WEIGHTS))


def synthesis(x):
    pixels = [(m, n) for m in range(6) for n in range(6)]
    taps = {(m, k): tap(LOW, m - 2 * k + 2) for m in range(6) for k in range(4)}
    values = {
        (m, n): sum(x[4 * i + j] * taps[m, i] * taps[n, j] for i in range(4) for j in range(4)) for m, n in pixels
    }
    return sum(WEIGHTS[m] * WEIGHTS[n] * values[m, n] for m, n in pixels)


def right(x):
    return [weighted(i) * weighted(j) for i in range(4) for j in range(4)]


prove(synthesis, right, AT)
require("pytorch-wavelets", "1.3.0")
import sys  # noqa: E402
from types import SimpleNamespace  # noqa: E402

sys.modules.setdefault("pkg_resources", SimpleNamespace(resource_stream=None))  # setuptools 81 has dropped it
import torch  # noqa: E402
from pytorch_wavelets.dwt.lowlevel import SFB2D, mode_to_int  # noqa: E402


def run(x):
    x = torch.tensor(np.array(x), requires_grad=True)
    low, high = (torch.tensor(taps, dtype=torch.float64) for taps in (LOW, HIGH))
    filters = low.reshape(1, 1, 1, 4), high.reshape(1, 1, 1, 4), low.reshape(1, 1, 4, 1), high.reshape(1, 1, 4, 1)
    details = torch.zeros(1, 1, 3, 4, 4, dtype=torch.float64)
    y = SFB2D.apply(x.reshape(1, 1, 4, 4), details, *filters, mode_to_int("symmetric"))
    w = torch.tensor(WEIGHTS, dtype=torch.float64)
    return x, (y[0, 0] * w[:, None] * w).sum()


def released(x):
    return run(x)[1].item()


def gradient(x):
    x, out = run(x)
    return torch.autograd.grad(out, x)[0].numpy()


gradcli.check(released, at={"x": AT}, grad=gradient, name="SFB2D.backward")
gradcli.check(released, at={"x": AT}, grad=in_floats(right), name="right formula")
