"""Where tensors lie in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..tape.device import refuse_device
from ..tape.dtypes import as_dtype, naming
from ..tape.tensor import Tensor
from ..tape.versions import address_of, mark_changed, memory_of
from .wrap import face


@face
def data_ptr(input: Tensor) -> int:
    """The address of the first element."""
    return address_of(input._array())


@face
def storage_offset(input: Tensor) -> int:
    """How many elements of its memory lie before its first one."""
    data = input._array()
    return (address_of(data) - address_of(memory_of(data))) // data.itemsize


class Storage:
    """The memory of a tensor: its elements one after another, those of other views included."""

    def __init__(self, tensor: Tensor):
        self._memory = memory_of(tensor._array()).ravel("K")
        self.device = tensor.device

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return address_of(self._memory)

    def size(self) -> int:
        """Return the number of elements."""
        return self._memory.size

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return self._memory.nbytes

    def tolist(self) -> list:
        """Return the elements."""
        return self._memory.tolist()

    def __len__(self) -> int:
        return self._memory.size

    def __iter__(self) -> Iterator:
        return iter(self._memory.tolist())

    def __setitem__(self, place: int, value: Any) -> None:
        self._memory[place] = value
        mark_changed(self._memory)

    def __repr__(self) -> str:
        lines = [f" {value}" for value in self]
        kind = f"dtype={as_dtype(self._memory.dtype)!r}, device=cpu"
        lines.append(f"[{naming.prefix}.storage.TypedStorage({kind}) of size {len(self)}]")
        return "\n".join(lines)

    def __getitem__(self, place: int) -> Any:
        return self._memory[place].item()


@face(names=("untyped_storage",))
def storage(input: Tensor) -> Storage:
    """The memory that the tensor is a part of."""
    return Storage(input)


@face
def cuda(input: Tensor, device: Any = "cuda", non_blocking: bool = False) -> Tensor:
    """Refuse: there is only the CPU."""
    return refuse_device(device)


@face
def module_load(input: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What load_state_dict swaps a parameter or buffer for: other's numbers in its memory, or other's memory.

    Classes of tensors may define their own.
    """
    return other.detach() if assign else input.copy_(other).detach()
