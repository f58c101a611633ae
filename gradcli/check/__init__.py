"""Checking derivatives: an independent reference with an error, a verdict, a diagnosis.

The package can be called: `@gradcli.check(at=...)` is `gradcli.check.declare.check`, whichever of the two is
imported first.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class CallablePackage(ModuleType):
    """A package that declares a check when it is called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from .declare import check

        return check(*args, **kwargs)


sys.modules[__name__].__class__ = CallablePackage  # what Python's data model offers for modules with methods
