"""Transforms of functions with the names and arguments of torch.func, each loaded when it is first asked for."""

from ..api.wrap import lazy

__all__, __getattr__ = lazy(
    __name__,
    {
        "gradcli.func.forward": "jacfwd jvp",
        "gradcli.func.mapping": "vmap",
        "gradcli.func.reverse": "functional_call grad grad_and_value hessian jacrev vjp",
    },
)
