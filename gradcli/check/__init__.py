"""Find checks, run them, and report.

Read targets (which checks a command line names), check (one of them) and points (where it runs) first, then
claim_check (the check of one claim) with input_checks, reasons and cross_checks, workers (checks in processes), and
complaints (why a check cannot run). declare is the decorator; program_checks, pytorch, reference, search with
candidates, lock and taylor are further ways to check.

The package is callable: `@gradcli.check(at=...)` is `gradcli.check.declare.check`, whichever of the two is imported
first.
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


sys.modules[__name__].__class__ = CallablePackage  # the data model's way to give a module methods
