"""Numbers drawn with given probabilities."""

from __future__ import annotations

import numpy as np

from ..tape.tensor import Tensor
from .create import generator, tensor
from .wrap import face


@face
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, **_: object) -> Tensor:
    """Numbers of columns, drawn for each row of weights (n,) or (rows, n) with probabilities proportional to them.

    Raises RuntimeError for weights that cannot be probabilities, or for too few of them without replacement.
    """
    weights = np.atleast_2d(np.asarray(input.detach()._data, np.float64))
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    rows = [drawn(row / row.sum(), num_samples, replacement) for row in weights]
    return tensor(np.array(rows)[0] if input.ndim == 1 else np.array(rows))


def drawn(share: np.ndarray, count: int, replacement: bool) -> np.ndarray:
    """Return numbers drawn with given probabilities."""
    if not replacement and np.count_nonzero(share) < count:
        raise RuntimeError(
            "invalid multinomial distribution (with replacement=False, not enough non-negative category)"
        )
    return generator.rng.choice(len(share), count, replacement, share)
