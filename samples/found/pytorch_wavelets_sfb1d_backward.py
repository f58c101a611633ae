"""pytorch_wavelets 1.3.0: SFB1D.backward

The synthesis filters of the modes symmetric, reflect and periodic are those of the mode zero. The backward pass however
extends its incoming gradient as these modes extend a signal. It is wrong near the ends, for filters with more than two
taps.

Right: dy/d(low, high) is the transposed synthesis: sum over n of g[n - 2 k + L - 2] dy[n], with zeros outside
"""

import numpy as np
from released import in_floats, prove, require

import gradcli

LOW = [0.5, 0.75, 0.25, -0.125]  # any filter with four taps
HIGH = [-0.125, -0.25, 0.75, -0.5]
WEIGHTS = [0.25, -1.0, 0.75, 1.25, -0.5, 1.0]
AT = [0.2, -0.6, 1.1, 0.4, 0.8, -0.3, 0.5, 0.1]  # four lowpass and four highpass coefficients


def tap(taps, k):
    return taps[k] if 0 <= k < len(taps) else 0


def synthesis(x):
    parts = [
        sum(x[k] * tap(LOW, n - 2 * k + 2) + x[4 + k] * tap(HIGH, n - 2 * k + 2) for k in range(4)) for n in range(6)
    ]
    return sum(w * part for w, part in zip(WEIGHTS, parts, strict=True))


def right(x):
    return [sum(w * tap(taps, n - 2 * k + 2) for n, w in enumerate(WEIGHTS)) for taps in (LOW, HIGH) for k in range(4)]


prove(synthesis, right, AT)
require("pytorch-wavelets", "1.3.0")
import sys  # noqa: E402
from types import SimpleNamespace  # noqa: E402

sys.modules.setdefault("pkg_resources", SimpleNamespace(resource_stream=None))  # setuptools 81 has dropped it
import torch  # noqa: E402
from pytorch_wavelets.dwt.lowlevel import SFB1D, mode_to_int  # noqa: E402


def run(x):
    x = torch.tensor(np.array(x), requires_grad=True)
    filters = (torch.tensor(taps, dtype=torch.float64)[None, None] for taps in (LOW, HIGH))
    y = SFB1D.apply(x[None, None, :4], x[None, None, 4:], *filters, mode_to_int("symmetric"))
    return x, (y.reshape(-1) * torch.tensor(WEIGHTS, dtype=torch.float64)).sum()


def released(x):
    return run(x)[1].item()


def gradient(x):
    x, out = run(x)
    return torch.autograd.grad(out, x)[0].numpy()


gradcli.check(released, at={"x": AT}, grad=gradient, name="SFB1D.backward")
gradcli.check(released, at={"x": AT}, grad=in_floats(right), name="right formula")
