"""gradcli: gradients on NumPy, with PyTorch's names, and a checker for gradients written by hand.

Names are looked up when they are first used, so that importing the package stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

SUBMODULES = {
    "autograd",
    "check",
    "func",
    "nn",
    "linalg",
    "special",
    "fft",
    "optim",
}
HOMES = {
    "Tensor": "tape.tensor",
    "Size": "tape.tensor",
    "no_grad": "tape.modes",
    "enable_grad": "tape.modes",
    "set_grad_enabled": "tape.modes",
    "is_grad_enabled": "tape.modes",
    "inference_mode": "tape.modes",
    "set_default_dtype": "tape.dtypes",
    "get_default_dtype": "tape.dtypes",
    "device": "tape.dtypes",
    "set_printoptions": "tape.printing",
    "get_printoptions": "tape.printing",
    "printoptions": "tape.printing",
    "is_anomaly_enabled": "tape.anomaly",
    "is_anomaly_check_nan_enabled": "tape.anomaly",
    "GradcliError": "errors",
    "check_gradient": "check.declare",
    "save": "nn.store",
    "load": "nn.store",
}
FROM_FUNCTIONAL = """
    adaptive_avg_pool1d adaptive_max_pool1d alpha_dropout avg_pool1d celu celu_ constant_pad_nd conv1d conv2d
    conv3d conv_transpose1d conv_transpose2d conv_transpose3d dropout feature_alpha_dropout group_norm
    hardshrink layer_norm max_pool1d max_pool1d_with_indices max_pool2d max_pool3d prelu relu_ rms_norm rrelu
    rrelu_ selu selu_ threshold threshold_
"""
HOMES.update(dict.fromkeys(FROM_FUNCTIONAL.split(), "nn.functional"))
DTYPE_NAMES = {
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "double",
    "float",
    "half",
    "long",
    "int",
    "short",
    "cdouble",
    "cfloat",
}
CONSTANTS = {
    "pi": 3.141592653589793,
    "e": 2.718281828459045,
    "inf": float("inf"),
    "nan": float("nan"),
    "newaxis": None,
}


def _find(name: str) -> Any:
    if name in SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name in HOMES:
        return getattr(import_module(f"{__name__}.{HOMES[name]}"), {"device": "Device"}.get(name, name))
    if name in DTYPE_NAMES or name == "bool":
        dtypes = import_module(f"{__name__}.tape.dtypes")
        return dtypes.ALIASES.get(name) or getattr(dtypes, name)
    if name == "dtype":
        return import_module(f"{__name__}.tape.dtypes").DType
    if name in CONSTANTS:
        return CONSTANTS[name]
    api = import_module(f"{__name__}.api")
    return api.resolve(name) or (api.method(name) if name.endswith("_") else None)


def __getattr__(name: str) -> Any:
    if name == "__all__":  # asked for by `from gradcli import *`
        return [n for n in __dir__() if not n.startswith("_") and n not in SUBMODULES]
    if name.startswith("__"):
        raise AttributeError(f"module 'gradcli' has no attribute '{name}'")
    found = _find(name)
    if found is None and name not in CONSTANTS:
        from .api import known_names
        from .errors import describe_missing

        raise AttributeError(describe_missing(name, [*known_names(), *HOMES, *DTYPE_NAMES, *SUBMODULES]))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    from .api import known_names

    return sorted({*globals(), *known_names(), *HOMES, *DTYPE_NAMES, *SUBMODULES, *CONSTANTS})
