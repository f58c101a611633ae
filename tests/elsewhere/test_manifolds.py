"""Derivatives by PyTorch and JAX are by the entries of a pose; those of Lie group libraries by the tangent, padded."""

import numpy as np
import pytest

from gradcli.check.declare import check_gradient
from tests.manifolds.poses import exp3, hat, pose

torch = pytest.importorskip("torch")
jnp = pytest.importorskip("jax.numpy")
P = np.array([1.0, 2, 3])
T0 = pose(exp3([0.3, -0.5, 0.8]), [1.0, -2, 0.5])
Q0 = np.array([1.0, -2, 0.5, 0.1, 0.3, -0.5, 0.8])  # position, and a quaternion x, y, z, w
Q0[3:] /= np.linalg.norm(Q0[3:])


def by_torch(T):
    return T[:3, :3] @ torch.tensor(P, dtype=T.dtype) + T[:3, 3]


def by_jax(T):
    return T[:3, :3] @ jnp.array(P) + T[:3, 3]


def test_derivatives_of_frameworks_pass():
    for f in (by_torch, by_jax):
        report = check_gradient(f, None, {"T": T0}, on={"T": "SE3"})
        assert report.verdict == "pass", report


def test_hand_written_jacobians_of_frameworks():
    def right(T):
        return torch.cat([T[:3, :3], -T[:3, :3] @ torch.tensor(hat(P))], 1)

    def left(T):
        return jnp.hstack([jnp.eye(3), -jnp.array(hat(np.asarray(by_jax(T))))])

    assert check_gradient(by_torch, right, {"T": T0}, on={"T": "SE3"}).verdict == "pass"
    assert check_gradient(by_jax, left, {"T": T0}, on={"T": "SE3"}).rule == "perturbation"


class Move(torch.autograd.Function):
    """A point moved by a pose."""

    @staticmethod
    def forward(ctx, T):
        return T[:3, :3] @ torch.tensor(P) + T[:3, 3]

    @staticmethod
    def backward(ctx, g):
        return torch.cat([torch.column_stack([torch.outer(g, torch.tensor(P)), g]), torch.zeros(1, 4, dtype=g.dtype)])


class WrongMove(Move):
    """Backward transposes the derivative by the rotation."""

    @staticmethod
    def backward(ctx, g):
        return torch.cat([torch.column_stack([torch.outer(torch.tensor(P), g), g]), torch.zeros(1, 4, dtype=g.dtype)])


def moved(T):
    return Move.apply(T)


def moved_wrongly(T):
    return WrongMove.apply(T)


def test_a_wrong_custom_function_inside_is_found():
    assert check_gradient(moved, None, {"T": T0}, on={"T": "SE3"}).verdict == "pass"
    wrong = check_gradient(moved_wrongly, None, {"T": T0}, on={"T": "SE3"})
    assert wrong.verdict == "fail" and "WrongMove" in str(wrong)


class PaddedMove(torch.autograd.Function):
    """As in PyPose and lietorch: the gradient is by left perturbations, followed by a zero."""

    @staticmethod
    def forward(ctx, x):
        t, v, w = x[:3], x[3:6], x[6]
        p = torch.tensor(P)
        turned = p + 2 * w * torch.linalg.cross(v, p) + 2 * torch.linalg.cross(v, torch.linalg.cross(v, p))
        ctx.save_for_backward(turned + t)
        return turned + t

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return torch.cat([g, torch.linalg.cross(y, g), torch.zeros(1, dtype=g.dtype)])


def test_padded_gradients():
    def f(x):
        return PaddedMove.apply(x)

    at = {"x": Q0}
    assert check_gradient(f, None, at, on={"x": "SE3:left:xyzw:padded"}, engine="torch").verdict == "pass"
    assert check_gradient(f, None, at, on={"x": "SE3:xyzw:padded"}, engine="torch").rule == "perturbation"
    assert check_gradient(f, None, at, on={"x": "SE3:left:xyzw"}, engine="torch").verdict == "fail"
