"""torch.autograd.functional: Jacobians, Hessians and products of a function at given inputs."""

from ..func.autograd_functional import hessian, hvp, jacobian, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
