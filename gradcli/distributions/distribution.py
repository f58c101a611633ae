"""What distributions share: shapes, sampling and printing."""

from __future__ import annotations

import numbers
from typing import Any

from ..face.create import tensor
from ..face.shape import broadcast_tensors
from ..tape.dtypes import as_dtype, defaults
from ..tape.modes import no_grad
from ..tape.tensor import Size, Tensor


def broadcast(*values: Any) -> list[Tensor]:
    """Return numbers and tensors as tensors of one shape."""
    kinds = [x.dtype for x in values if isinstance(x, Tensor)]
    kind = kinds[0] if kinds else as_dtype(defaults.float)
    return list(broadcast_tensors(*[x if isinstance(x, Tensor) else tensor(x, dtype=kind) for x in values]))


class Distribution:
    """A distribution: `batch_shape` independent ones, each of elements of `event_shape`."""

    parameters: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    has_rsample = False

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not False:
            for name in self.positive:
                self.refuse_unless(name, self.__dict__[name] > 0, "GreaterThan(lower_bound=0.0)")

    def refuse_unless(self, name: str, holds: Any, constraint: str) -> None:
        """Raise ValueError for a parameter outside its range."""
        value = self.__dict__[name]
        if not bool(holds.all()):
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to satisfy the constraint {constraint}, but found invalid values:\n{value}"
            )

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters, less that of an event."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one element."""
        return self._event_shape

    def _extended(self, sample_shape: Any) -> tuple[int, ...]:
        lead = (sample_shape,) if isinstance(sample_shape, numbers.Integral) else tuple(sample_shape)
        return (*lead, *self._batch_shape, *self._event_shape)  # type: ignore[return-value]

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Return samples through which gradients flow to the parameters."""
        raise NotImplementedError

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Return samples."""
        with no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """Return n samples."""
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Return exp(entropy)."""
        return self.entropy().exp()

    mean: Any
    variance: Any

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def __repr__(self) -> str:
        known = {name: self.__dict__[name] for name in self.parameters if name in self.__dict__}
        parts = [f"{name}: {x.item() if x.numel() == 1 else x.size()}" for name, x in known.items()]
        return f"{type(self).__name__}({', '.join(parts)})"


class Independent(Distribution):
    """A distribution whose last axes of batches count as part of an event."""

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None):
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}"
            )
        cut = len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        self.has_rsample = base_distribution.has_rsample
        super().__init__(shape[:cut], shape[cut:])

    def __getattr__(self, name: str) -> Any:
        if name in ("mean", "variance", "mode"):
            return getattr(self.base_dist, name)
        raise AttributeError(f"'Independent' object has no attribute '{name}'")

    def summed(self, x: Tensor) -> Tensor:
        """Return a sum over the axes that count as part of an event."""
        count = self.reinterpreted_batch_ndims
        return x.sum(tuple(range(-count, 0))) if count else x

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Return samples through which gradients flow to the parameters."""
        return self.base_dist.rsample(sample_shape)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Return samples."""
        return self.base_dist.sample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density."""
        return self.summed(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        """Return the entropy in nats."""
        return self.summed(self.base_dist.entropy())

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
