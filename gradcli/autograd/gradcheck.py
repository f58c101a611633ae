"""torch.autograd.gradcheck, as a module and as a function: calling the module checks a gradient."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ..check.pytorch import GradcheckError, gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class CallableModule(ModuleType):
    """A module that is called as the function of its name."""

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        """Check a gradient; see `gradcli.check.pytorch.gradcheck`."""
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = CallableModule
