"""The dynamic graph. Tensors are complete once any module here is imported: operators, recording and backward."""

from . import backward, operators  # noqa: F401
