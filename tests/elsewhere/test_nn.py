"""Layers and losses agree with PyTorch's: repr, state names, values, and gradients of inputs and parameters."""

import numpy as np
import pytest

import gradcli

IMAGE, LINE, ROW = (2, 4, 6, 7), (2, 4, 9), (3, 4)
WEIGHT = "tensor([1.0, 2.0, 0.5, 1.5], dtype=float64)"
# the module as text, and the shapes of its inputs; an int8 array holds class labels
CLASSES = np.array([1, 0, 3], np.int8)
LAYERS = [
    *((f"{name}()", [ROW]) for name in "ReLU LeakyReLU ELU GELU SiLU Softplus Sigmoid Tanh Flatten".split()),
    *((text, [ROW]) for text in ("Softmax(1)", "LogSoftmax(dim=0)", "GELU('tanh')", "ELU(0.5)", "Softplus(2, 1)")),
    *((text, [ROW]) for text in ("Linear(4, 3)", "Linear(4, 2, bias=False)", "LayerNorm(4)", "Dropout(0.2).eval()")),
    *((f"BatchNorm1d(4{more}", [ROW]) for more in (")", ", momentum=None)", ", affine=False)", ").eval()")),
    ("BatchNorm2d(4, 0.1, 0.3)", [IMAGE]),
    ("GroupNorm(2, 4)", [IMAGE]),
    ("Embedding(4, 2, padding_idx=-1)", [CLASSES]),
    ("Conv1d(4, 6, 3, 2, 1, 2, 2, False)", [LINE]),
    ("Conv1d(4, 2, 4, padding='same')", [LINE]),
    ("Conv2d(4, 2, (3, 2), stride=(2, 1), padding=4)", [IMAGE]),
    ("Conv2d(4, 4, 3, dilation=2, groups=4)", [IMAGE[1:]]),
    *((f"{kind}Pool1d({how})", [LINE]) for kind in ("Max", "Avg") for how in ("2", "3, 1, 1")),
    ("MaxPool1d(4, 4, 2, ceil_mode=True)", [LINE]),
    *((f"{kind}Pool2d({how})", [IMAGE]) for kind in ("Max", "Avg") for how in ("(3, 2)", "3, (1, 2), 1")),
    ("MaxPool2d(2, 2, 1, 2)", [IMAGE]),
    *(
        (f"{kind}Loss(reduction='{how}')", [ROW, ROW])
        for kind in ("MSE", "L1", "Huber")
        for how in ("mean", "sum", "none")
    ),
    ("SmoothL1Loss(beta=0.3)", [ROW, ROW]),
    ("KLDivLoss(reduction='batchmean', log_target=True)", [ROW, ROW]),
    *((f"CrossEntropyLoss({how})", [ROW, CLASSES]) for how in ("", WEIGHT, "ignore_index=0", "label_smoothing=0.1")),
    ("CrossEntropyLoss(reduction='none')", [ROW, ROW]),
    (f"NLLLoss({WEIGHT}, reduction='sum')", [ROW, CLASSES]),
    ("BCEWithLogitsLoss()", [ROW, ROW]),
    (f"BCEWithLogitsLoss(pos_weight={WEIGHT})", [ROW, ROW]),
    ("Sequential(Sigmoid(), BatchNorm1d(4, affine=False, track_running_stats=False), Linear(4, 1))", [ROW]),
    *((f"{kind}(4, 3, 2, bidirectional=True, batch_first=True)", [(2, 5, 4)]) for kind in ("RNN", "LSTM", "GRU")),
    ("RNN(4, 3, nonlinearity='relu', bias=False)", [ROW]),
    *((text, [ROW]) for text in ("Identity(3, unused=True)", "PReLU()", "PReLU(4, 0.1)", "Dropout2d(0.2).eval()")),
    ("PReLU(4)", [IMAGE]),
    *((f"AdaptiveAvgPool1d({size})", [LINE]) for size in (1, 4, 9, 12)),
    *((f"AdaptiveAvgPool2d({size})", [IMAGE]) for size in (1, 3, (4, 5), (None, 2))),
    ("AdaptiveAvgPool2d(2)", [IMAGE[1:]]),
    ("MultiheadAttention(4, 2)", [(3, 2, 4), (5, 2, 4), (5, 2, 4)]),
    ("MultiheadAttention(4, 1, bias=False, batch_first=True)", [(2, 3, 4)] * 3),
    ("MultiheadAttention(4, 2)", [(3, 4), (5, 4), (5, 4)]),
]


def run(engine, text, inputs):
    """Return the module's repr, its state names, and by name its output, buffers and gradients of sum(output**2)."""
    names = {name: getattr(engine.nn, name) for name in gradcli.nn.__all__ if name[0].isupper()}
    net = eval(text, {**names, "tensor": engine.tensor, "float64": engine.float64}).double()
    rng = np.random.default_rng(3)
    for x in net.parameters():
        x.data = engine.tensor(rng.normal(size=tuple(x.shape)))
    given = [
        engine.tensor(x.astype(int) if x.dtype == np.int8 else x, requires_grad=x.dtype != np.int8) for x in inputs
    ]
    out = net(*given)
    out = out[0] if isinstance(out, tuple) else out
    (out * out).sum().backward()
    grads = {**{str(i): x.grad for i, x in enumerate(given)}, **{name: x.grad for name, x in net.named_parameters()}}
    values = {"out": out.detach(), **grads, **{f"buffer {name}": x for name, x in net.named_buffers()}}
    return repr(net), list(net.state_dict()), {name: x.numpy() for name, x in values.items() if x is not None}


# PyTorch's advice on two of the layers; their results are compared.
@pytest.mark.filterwarnings("ignore:dropout2d. Received a 2-D input", "ignore:Using padding='same' with even kernel")
@pytest.mark.framework("torch")
@pytest.mark.parametrize(("text", "shapes"), LAYERS, ids=[text for text, _ in LAYERS])
def test_modules_agree_with_torch(text, shapes):
    import torch

    rng = np.random.default_rng(4)
    inputs = [shape if isinstance(shape, np.ndarray) else rng.normal(size=shape) for shape in shapes]
    (printed, state, values), (wanted, names, reference) = (run(engine, text, inputs) for engine in (gradcli, torch))
    assert (printed, state) == (wanted, names)
    assert values.keys() == reference.keys()
    for name, value in values.items():
        np.testing.assert_allclose(value, reference[name], rtol=1e-6, atol=1e-9, err_msg=name)
