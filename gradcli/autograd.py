"""The names of torch.autograd. Its submodules are namespaces; `gradcheck` can also be called as a function."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .api.wrap import lazy, namespace

GRAD_MODES = "enable_grad inference_mode no_grad set_grad_enabled"
ANOMALY = "detect_anomaly set_detect_anomaly"
AUTOGRAD_SUBMODULES = {
    "anomaly_mode": {"gradcli.tape.anomaly": ANOMALY},
    "function": {"gradcli.tape.function": "Function once_differentiable BackwardCFunction FunctionCtx"},
    "functional": {"gradcli.func.autograd_functional": "hessian hvp jacobian jvp vhp vjp"},
    "grad_mode": {"gradcli.tape.modes": GRAD_MODES},
    "gradcheck": {"gradcli.check.pytorch": "GradcheckError gradcheck gradgradcheck"},
    "graph": {"gradcli.tape.hooks": "saved_tensors_hooks", "gradcli.tape.node": "Node"},
}
__all__, __getattr__ = lazy(
    __name__,
    {
        "gradcli.check.pytorch": "gradgradcheck",
        "gradcli.tape.anomaly": ANOMALY,
        "gradcli.tape.backward": "backward grad",
        "gradcli.tape.function": "Function",
        "gradcli.tape.modes": GRAD_MODES,
    },
)
for submodule, names in AUTOGRAD_SUBMODULES.items():
    namespace(f"{__name__}.{submodule}", names)


class CallableModule(ModuleType):
    """A module that can be called like the function of the same name."""

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        """Check a gradient; see `gradcli.check.pytorch.gradcheck`."""
        from .check.pytorch import gradcheck

        return gradcheck(*args, **kwargs)


globals()["gradcheck"].__class__ = CallableModule
