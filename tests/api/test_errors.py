"""Wrong arguments raise what they raise in PyTorch, in the words that its users look for."""

import re

import numpy as np
import pytest

import gradcli as gc
from gradcli import ones, tensor, zeros
from gradcli.func import grad, vmap
from gradcli.nn import functional as F

from ..tape.build import leaf

X, M = tensor([1.0, 2.0, 3.0]), ones(2, 3)
MESSAGES = [
    # -- operands that do not fit
    (RuntimeError, "(2) must match the size of tensor b (3) at non-singleton dimension 0", lambda: leaf(1, 2) + X),
    (RuntimeError, "tensor b (3) at non-singleton dimension 1", lambda: ones(2, 2) * X),
    (RuntimeError, "size of tensor a (3) must match", lambda: np.ones(3) * leaf(1, 2)),
    (RuntimeError, "size of tensor a (3) must match", lambda: gc.where(X > 0, leaf(1, 2), leaf(1, 2))),
    (RuntimeError, "size of tensor a (3) must match", lambda: zeros(3).mul_(leaf(1, 2))),
    (RuntimeError, "output with shape [3] doesn't match the broadcast shape [2]", lambda: zeros(3).copy_(leaf(1, 2))),
    (TypeError, "unsupported operand type(s) for +: 'Tensor' and 'str'", lambda: ones(2) + "a"),
    (RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)", lambda: M @ M),
    (RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)", lambda: gc.matmul(M, M)),
    (RuntimeError, "mat1 and mat2 shapes cannot be multiplied (4x3 and 4x2)", lambda: ones(2, 2, 3) @ ones(4, 2)),
    (RuntimeError, "cannot be multiplied (1x3 and 2x2)", lambda: F.linear(X, ones(2, 2))),
    (RuntimeError, "shapes (3,) and (4,) do not match", lambda: X @ ones(4)),
    (RuntimeError, "shapes (2, 3) and (4,) do not match", lambda: M @ ones(4)),
    (RuntimeError, "(2,) do not match", lambda: gc.mv(M, X[:2])),
    (RuntimeError, "(2,) do not match", lambda: np.ones((2, 3)) @ leaf(1, 2)),
    (RuntimeError, "batch2 tensor to be: [2, 3] but got: [2, 4].", lambda: ones(2, 2, 3) @ ones(2, 4, 2)),
    (RuntimeError, "1D tensors expected, but got 2D and 1D tensors", lambda: gc.dot(ones(2, 2), ones(2))),
    (RuntimeError, "the number of subscripts in the equation (2) does not match", lambda: gc.einsum("ij->i", X)),
    (RuntimeError, "output subscript j does not appear", lambda: gc.einsum("i->ij", X)),
    (RuntimeError, "subscript j has size 2 for operand 1", lambda: gc.einsum("ij,jk->ik", M, M)),
    (RuntimeError, "in dimension 0. Expected size 3 but got size 2 for", lambda: gc.cat([M, ones(3, 2)])),
    (RuntimeError, "same number of dimensions: got 1 and 2", lambda: gc.cat([leaf(1, 2), ones(2, 2)])),
    (ValueError, "expected a non-empty list of Tensors", lambda: gc.cat([])),
    (RuntimeError, "stack expects each tensor to be equal size, but got [2] at", lambda: gc.stack([X[:2], X])),
    (RuntimeError, "tensor (4) must match the existing size (2) at non-single", lambda: M.expand(4, 3)),
    # -- axes, places and sizes
    (IndexError, "out of range (expected to be in range of [-1, 0], but got 2)", lambda: X.sum(dim=2)),
    (IndexError, "Dimension out of range", lambda: X.transpose(0, 2)),
    (RuntimeError, "a dim appears multiple times in the list of dims", lambda: X.sum((0, -1))),
    (RuntimeError, "permute(): duplicate dims are not allowed", lambda: M.permute(0, 0)),
    (RuntimeError, "input.dim() = 1 is not equal to len(dims) = 2", lambda: X.permute(1, 0)),
    (RuntimeError, "diagonal dimensions cannot be identical 0, 0", lambda: M.diagonal(0, 0, 0)),
    (IndexError, "index 5 is out of bounds for dimension 0 with size 3", lambda: X[5]),
    (IndexError, "too many indices", lambda: M[0, 0, 0]),
    (IndexError, "too many indices", lambda: tensor(1.0, requires_grad=True).__setitem__(0, 1)),
    (IndexError, "too many indices", lambda: leaf(1, 2).__setitem__((slice(None), 0), 1)),
    (IndexError, "boolean index did not match", lambda: M[tensor([True, False, True])]),
    (RuntimeError, "only supports boolean masks", lambda: X.masked_fill(tensor([1, 0, 1]), 0.0)),
    (RuntimeError, "index 7 is out of bounds for dimension 1 with size 3", lambda: M.gather(1, tensor([[7]]))),
    (RuntimeError, "narrow() cannot be applied to a 0-dim tensor", lambda: tensor(1.0).narrow(0, 0, 1)),
    (IndexError, "start out of range (expected to be in range of [-3, 3], but got 4)", lambda: X.narrow(0, 4, 1)),
    (RuntimeError, "start (1) + length (5) exceeds dimension size (3)", lambda: X.narrow(0, 1, 5)),
    (RuntimeError, "chunk expects at least a 1-dimensional tensor", lambda: tensor(1.0).chunk(2)),
    (RuntimeError, "split expects at least a 1-dimensional tensor", lambda: tensor(1.0).split(1)),
    (RuntimeError, "chunk expects `chunks` to be greater than 0, got: 0", lambda: gc.chunk(X, 0)),
    (RuntimeError, "split expects split_size to be positive, but got split_size=0", lambda: gc.split(X, 0)),
    (RuntimeError, "split expects split_size to be positive, but got split_size=-1", lambda: gc.split(X, -1)),
    (RuntimeError, "shifts and dimensions must align. shifts: 2, dims:1", lambda: X.roll((1, 2), 0)),
    (RuntimeError, "negative dimension -1: [2, -1]", lambda: ones(2, -1)),
    (RuntimeError, "step must be nonzero", lambda: gc.arange(0, 1, 0)),
    (RuntimeError, "upper bound and lower bound inconsistent with step sign", lambda: gc.arange(1, 0)),
    # -- nothing there
    (RuntimeError, "max(): Expected reduction dim to be specified", lambda: zeros(0).max()),
    (IndexError, "the reduced axis must not be empty", lambda: zeros(0, 2).max(0)),
    # -- types
    (RuntimeError, "Boolean value of Tensor with no values is ambiguous", lambda: bool(zeros(0))),
    (ValueError, "only one element tensors can be converted to Python scalars", lambda: int(X)),
    (RuntimeError, "value cannot be converted to type double", lambda: float(tensor([1 + 2j]))),
    (ValueError, "expected sequence of length 2 at dim 1 (got 1)", lambda: tensor([[1, 2], [3]])),
    (TypeError, "new(): invalid data type 'str'", lambda: tensor("a")),
    (RuntimeError, "Could not infer dtype of NoneType", lambda: tensor([None])),
    (RuntimeError, "or complex dtype. Got: Long", lambda: tensor([1, 2]).mean()),
    (RuntimeError, "type Double can't be cast to the desired output type Long", lambda: tensor([1]).add_(0.5)),
    (NotImplementedError, "softmax_lastdim_kernel_impl", lambda: gc.arange(3).softmax(0)),
    (RuntimeError, "Expected a floating point or complex tensor", lambda: gc.arange(3).norm()),
    (RuntimeError, "normal expects std >= 0.0, but found std -1", lambda: gc.normal(0.0, -1.0, (2,))),
    # -- one number at a time
    (RuntimeError, "None, 'trunc', or 'floor' but found 'up'", lambda: gc.div(X, X, rounding_mode="up")),
    (RuntimeError, "torch.sign doesn't support complex numbers; use sgn", lambda: gc.sign(X + 1j)),
    (RuntimeError, "imag is not implemented for tensors with non-complex dtypes", lambda: gc.imag(X)),
    (RuntimeError, "view_as_real is only supported for complex tensors", lambda: gc.view_as_real(X)),
    (RuntimeError, "view_as_complex needs real numbers and a last axis of", lambda: gc.view_as_complex(X)),
    (RuntimeError, "p has to be greater than or equal to 1, not 0", lambda: gc.mvlgamma(X, 0)),
    (ValueError, "the order must be a non-negative integer, not -1", lambda: gc.polygamma(-1, X)),
    (RuntimeError, "zeta: the derivative with respect to the first", lambda: gc.special.zeta(leaf(1, 2), X[:2])),
    # -- order, differences and norms
    (RuntimeError, "selected index k out of range", lambda: M.topk(6)),
    (RuntimeError, "quantiles must be in the range [0, 1]", lambda: M.quantile(1.5)),
    (TypeError, "method='cubic'; it knows linear, lower", lambda: M.quantile(0.5, interpolation="cubic")),
    (RuntimeError, "a quantile needs at least one element", lambda: M[:, :0].quantile(0.5)),
    (RuntimeError, "nanmean(): expected input to have floating point or complex", lambda: M.long().nanmean()),
    (RuntimeError, "std and var only support floating point and complex dtypes", lambda: M.long().var()),
    (RuntimeError, "an axis needs at least edge_order + 1 = 4 elements", lambda: gc.gradient(M, edge_order=3)),
    (RuntimeError, "diff needs an order that is not negative and an axis", lambda: gc.diff(M.sum())),
    # -- func
    (ValueError, "same size in the mapped dimension, got sizes [2, 3]", lambda: vmap(np.add)(ones(2), X)),
    (RuntimeError, "to return a scalar Tensor, got tensor with 1 dims.", lambda: grad(lambda x: x)(X)),
]


@pytest.mark.parametrize(("kind", "text", "call"), MESSAGES, ids=lambda x: x[:40] if isinstance(x, str) else "")
def test_message(kind, text, call):
    with pytest.raises(kind, match=re.escape(text)):
        call()
