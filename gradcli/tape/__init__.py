"""The dynamic graph. Importing any module here completes the Tensor: operators, recording and backward."""

from . import backward, operators  # noqa: F401
