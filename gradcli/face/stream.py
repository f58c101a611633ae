"""Random numbers in the order and of the values that PyTorch draws on a CPU, so that seeds mean the same in both.

Bits come from MT19937 (Matsumoto and Nishimura 1998), normal numbers from the transform of Box and Muller (1958).
The last bits of float32 normal numbers depend on how logarithms, sines and cosines are rounded: they follow the
single-precision polynomials of Cephes (Moshier 1984) with fused multiply-add, as PyTorch's vectors do.
"""

from __future__ import annotations

import functools
import math
import os
from typing import Any

import numpy as np

from ..rules.vectors import fused, polynomial, singles
from ..tape.dtypes import naming

Shape = tuple[int, ...]
DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
BITS = {"e": 24, "f": 24, "d": 53}
STATE_WORDS = 624


class Generator:
    """A stream of random numbers; without a seed, each one starts somewhere else.

    device: only the CPU.
    """

    def __init__(self, device: Any = "cpu", *, seed: int | None = None):
        self.device = device
        self.bits = np.random.MT19937()
        self.spare: float | None = None
        self.manual_seed(fresh_seed() if seed is None else seed)

    def manual_seed(self, seed: int) -> Generator:
        """Start anew from a seed, of which the lowest 32 bits count; return this."""
        self._seed = int(seed) % 2**64
        self.bits.state = np.random.RandomState(self._seed % 2**32).get_state(legacy=False)  # type: ignore[assignment]
        self.spare = None
        return self

    def initial_seed(self) -> int:
        """Return the seed that the stream started from."""
        return self._seed

    def seed(self) -> int:
        """Start anew from a seed that nobody knows, and return it."""
        return self.manual_seed(fresh_seed()).initial_seed()

    def snapshot(self) -> np.ndarray:
        """Return where the stream stands, as bytes (uint8) for `resume`."""
        state: Any = self.bits.state["state"]
        spare = np.array([math.nan if self.spare is None else self.spare])
        words = np.array([self._seed, state["pos"]], np.uint64)
        return np.concatenate([x.view(np.uint8) for x in (words, spare, state["key"].astype(np.uint32))])

    def resume(self, found: np.ndarray) -> None:
        """Continue where the stream stood at a `snapshot`. Raises RuntimeError for bytes that are none."""
        if found.dtype != np.uint8 or found.shape != (24 + 4 * STATE_WORDS,):
            raise RuntimeError("RNG state is wrong size or of another type than a torch.ByteTensor")
        self._seed, position = (int(n) for n in found[:16].view(np.uint64))
        spare = float(found[16:24].view(np.float64)[0])
        self.spare = None if math.isnan(spare) else spare
        state = {"key": found[24:].view(np.uint32), "pos": position}
        self.bits.state = {"bit_generator": "MT19937", "state": state}  # type: ignore[typeddict-item]

    def __repr__(self) -> str:
        module = "torch._C" if naming.prefix == "torch" else "gradcli"
        return f"<{module}.Generator object at {id(self):#x}>"

    # -- bits ---------------------------------------------------------------------------------------

    def words(self, count: int) -> np.ndarray:
        """Return 32 random bits each, as uint64."""
        return self.bits.random_raw(count)

    def wide(self, count: int) -> np.ndarray:
        """Return 64 random bits each, as uint64: two words, the first one on top."""
        both = self.words(2 * count)
        return both[0::2] << np.uint64(32) | both[1::2]

    # -- numbers ------------------------------------------------------------------------------------

    def unit(self, shape: Shape, dtype: Any = DOUBLE) -> np.ndarray:
        """Return uniform numbers in [0, 1), as float64, of as many random bits as the type is drawn with."""
        bits = BITS.get(np.dtype(dtype).char, BITS["d"])
        drawn = self.wide(math.prod(shape)) if bits > 32 else self.words(math.prod(shape))
        return ((drawn & np.uint64(2**bits - 1)) * 2.0**-bits).reshape(shape)

    def uniform(self, low: float, high: float, shape: Shape, dtype: Any = DOUBLE) -> np.ndarray:
        """Return uniform numbers in [low, high); both parts of complex ones."""
        dtype = np.dtype(dtype)
        if dtype.kind == "c":
            return self.uniform(low, high, (*shape, 2), np.finfo(dtype).dtype).view(dtype)[..., 0]
        kind = dtype.type if dtype.kind == "f" else np.float64
        return (self.unit(shape, dtype) * float(kind(high) - kind(low)) + float(kind(low))).astype(kind)

    def normal(self, mean: float, std: float, shape: Shape, dtype: Any = DOUBLE, blocks: bool = True) -> np.ndarray:
        """Return normal numbers; complex ones have the variance std^2 in all.

        blocks: make 16 at a time where there are as many, which is for memory in one piece.
        """
        dtype = np.dtype(dtype)
        if dtype.kind == "c":
            return self.normal(mean, std / math.sqrt(2), (*shape, 2), np.finfo(dtype).dtype).view(dtype)[..., 0]
        kind = dtype if dtype.kind == "f" else DOUBLE
        count = math.prod(shape)
        if count < 16 or not blocks:
            return np.array([self.one_normal() * std + mean for _ in range(count)], kind).reshape(shape)
        block = functools.partial(normal_blocks, mean=mean, std=std)
        found = self.unit((count,), kind).astype(kind)
        whole = count - count % 16
        found[:whole] = block(found[:whole])
        if count % 16:
            found[-16:] = block(self.unit((16,), kind).astype(kind))
        return found.reshape(shape)

    def one_normal(self) -> float:
        """Return one standard normal number: every other one was made together with the one before."""
        if self.spare is not None:
            found, self.spare = self.spare, None
            return found
        angle, share = self.unit((2,)).tolist()
        radius = math.sqrt(-2 * math.log1p(-share))
        self.spare = radius * math.sin(2 * math.pi * angle)
        return radius * math.cos(2 * math.pi * angle)

    def integers(self, low: int, high: int, shape: Shape) -> np.ndarray:
        """Return integers (int64) from low up to, not including, high."""
        count, size = math.prod(shape), high - low
        drawn = self.wide(count) if size >= 2**28 else self.words(count)
        return (drawn % np.uint64(size)).astype(np.int64).reshape(shape) + low

    def permutation(self, count: int) -> np.ndarray:
        """Return the numbers below count in random order (int64)."""
        order = list(range(count))
        for i, word in enumerate(self.words(max(count - 1, 0)).tolist()):
            place = i + word % (count - i)
            order[i], order[place] = order[place], order[i]
        return np.array(order, np.int64)

    def chances(self, p: Any, shape: Shape) -> np.ndarray:
        """Return True with the probability p: a number, or an array of the shape."""
        return self.unit(shape, getattr(p, "dtype", DOUBLE)) < p

    def exponential(self, rate: float, shape: Shape) -> np.ndarray:
        """Return exponential numbers (float64)."""
        return -np.log1p(-self.unit(shape)) / rate


def fresh_seed() -> int:
    """Return a seed that nobody knows."""
    return int.from_bytes(os.urandom(8), "little")


# -- normal numbers in blocks of 16 ---------------------------------------------------------------


def normal_blocks(unit: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Return normal numbers for uniform ones, 16 at a time: eight radii, then eight angles."""
    dtype = unit.dtype
    shares, turns = 1 - unit.reshape(-1, 2, 8)[:, 0], unit.reshape(-1, 2, 8)[:, 1]
    if dtype == SINGLE:
        radius = np.sqrt(np.float32(-2) * log_single(shares))
        sine, cosine = sine_and_cosine_single(np.float32(2 * math.pi) * turns)
    else:
        radius = np.sqrt(-2 * np.log(shares))
        sine, cosine = np.sin(2 * math.pi * turns), np.cos(2 * math.pi * turns)
    both = np.stack([radius * cosine, radius * sine], 1).astype(dtype)
    return fused(both, dtype.type(std), dtype.type(mean)).ravel() if dtype == SINGLE else (both * std + mean).ravel()


LOG_SERIES = singles(
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
    *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
SINE_SERIES = singles(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COSINE_SERIES = singles(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
LOG_2 = (-2.12194440e-4, 0.693359375)
QUARTER_PI = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)


def log_single(x: np.ndarray) -> np.ndarray:
    """Return the logarithm of float32 numbers in (0, 1]."""
    fraction, exponent = np.frexp(x)
    is_low = fraction < np.float32(math.sqrt(0.5))
    exponent = (exponent - is_low).astype(SINGLE)
    x = np.where(is_low, fraction + fraction, fraction) - np.float32(1)
    square = x * x
    tail = fused(polynomial(x, LOG_SERIES) * x, square, exponent * np.float32(LOG_2[0]))
    tail = fused(square, np.float32(-0.5), tail)
    return fused(exponent, np.float32(LOG_2[1]), x + tail)


def sine_and_cosine_single(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sine and cosine of float32 angles of at least 0."""
    octant = ((x * np.float32(4 / math.pi)).astype(np.int32) + 1) & ~1
    for part in QUARTER_PI:
        x = fused(octant.astype(SINGLE), np.float32(part), x)
    square = x * x
    cosine = polynomial(square, COSINE_SERIES) * square
    cosine = fused(cosine, square, -(square * np.float32(0.5))) + np.float32(1)
    sine = fused(polynomial(square, SINE_SERIES) * square, x, x)
    straight = octant & 2 == 0
    sine, cosine = np.where(straight, sine, cosine), np.where(straight, cosine, sine)
    return np.where(octant & 4, -sine, sine), np.where((octant + 2) & 4, -cosine, cosine)


__all__ = ["Generator"]
