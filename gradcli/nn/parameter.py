"""The name under which programs for PyTorch import Parameter."""

from ..tape.parameter import Parameter

__all__ = ["Parameter"]
