"""Operations that PyTorch records as one node are shown as one, with PyTorch's name and next functions."""

import pytest

import gradcli
from gradcli import nn
from gradcli.face.nodes import FACE_NODES, FUNCTIONAL_NODES
from gradcli.face.wrap import FACE
from gradcli.nn import functional


def chain(node):
    """Return the names of a node and of those behind it."""
    if node is None:
        return "None"
    name = type(node).__name__
    assert node.name() == name
    if name == "AccumulateGrad":
        return "A"
    return f"{name.removesuffix('Backward0')}({', '.join(chain(n) for n, _ in node.next_functions)})"


def ones(*shape):
    return gradcli.ones(*shape, requires_grad=True)


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda: 2 * ones(2), "Mul(A, None)"),
        (lambda: 1 + ones(2), "Add(A, None)"),
        (lambda: gradcli.tensor(2.0) * ones(2), "Mul(None, A)"),
        (lambda: 1 - ones(2), "RsubBackward1(A)"),
        (lambda: ones(2) ** 2, "Pow(A)"),
        (lambda: 2 ** ones(2), "PowBackward2(A)"),
        (lambda: ones(2) ** ones(2), "PowBackward1(A, A)"),
        (lambda: ones(()) ** ones(2), "PowBackward1(A, A)"),
        (lambda: ones(2) % 2, "Remainder(A)"),
        (lambda: ones(2).clamp(0, 1), "ClampBackward1(A)"),
        (lambda: gradcli.where(ones(2) > 0, ones(2), 0.0), "Where(A, None)"),
        (lambda: ones(2).masked_fill(ones(2) > 0, 0.0), "MaskedFill(A)"),
        (lambda: ones(2).add(ones(2), alpha=3), "Add(A, A)"),
        (lambda: gradcli.addmm(ones(2), ones(2, 3), ones(3, 2)), "Addmm(A, A, A)"),
        (lambda: ones(2, 3).max(1).values, "Max(A)"),
        (lambda: ones(2, 3).sum((0, 1)), "SumBackward1(A)"),
        (lambda: ones(3, 2).cumsum(0), "Cumsum(A)"),
        (lambda: gradcli.einsum("ij,jk->ik", ones(2, 3), ones(3, 2)), "View(A)"),
        (lambda: gradcli.einsum("ij->ji", ones(2, 3)), "Permute(A)"),
        (lambda: ones(2, 3, 4) @ ones(4, 5), "UnsafeView(Mm(View(A), A))"),
        (lambda: ones(2).sigmoid().log(), "Log(Sigmoid(A))"),
        (lambda: functional.mse_loss(ones(2), gradcli.zeros(2)), "MseLoss(A, None)"),
        (lambda: functional.cross_entropy(ones(2, 3), gradcli.tensor([0, 1])), "NllLoss(LogSoftmax(A))"),
        (lambda: nn.BCEWithLogitsLoss()(ones(2), gradcli.ones(2)), "BinaryCrossEntropyWithLogits(A, None)"),
        (lambda: functional.conv2d(ones(1, 1, 3, 3), ones(1, 1, 2, 2)), "Convolution(A, A, None)"),
        (lambda: functional.max_pool1d(ones(1, 1, 4), 2), "SqueezeBackward1(MaxPool2DWithIndices(Unsqueeze(A)))"),
        (lambda: nn.BatchNorm1d(2)(ones(3, 2)), "NativeBatchNorm(A, A, A)"),
        (lambda: nn.Embedding(3, 2)(gradcli.tensor([1])), "Embedding(A)"),
        (lambda: nn.Linear(3, 2, bias=False)(ones(4, 3)), "Mm(A, T(A))"),
        (lambda: nn.LSTM(3, 2).to(gradcli.float32)(gradcli.zeros(4, 1, 3).float())[0], "MkldnnRnnLayer(A, A, A, A)"),
    ],
)
def test_chain(compute, expected):
    found = chain(compute().grad_fn).replace(
        "MkldnnRnnLayer(None, A, A, A, A, None, None)", "MkldnnRnnLayer(A, A, A, A)"
    )
    assert found == expected


def test_faces_outlive_backward_and_are_the_same_each_time():
    loss = functional.mse_loss(ones(2) * 3, gradcli.zeros(2))
    loss.backward()
    assert chain(loss.grad_fn) == "MseLoss(Mul(A, None), None)"
    pooled = functional.avg_pool1d(ones(1, 1, 4), 2).grad_fn
    assert pooled.next_functions[0][0] is pooled.next_functions[0][0]
    assert repr(pooled.next_functions[0][0]).startswith("<AvgPool2DBackward0")


def test_tables_name_functions_that_exist():
    assert all(name.rstrip("_") in FACE or gradcli.face.resolve(name) for name in FACE_NODES)
    assert all(hasattr(functional, name) for name in FUNCTIONAL_NODES)
