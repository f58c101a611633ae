"""Under which nodes PyTorch records what is a composition here: specs as in tape.facade, by the function's name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..tape.facade import as_one

Spec = str | Callable[[Any, dict[str, Any]], str | None]
"""A spec, or a function of the result and the named arguments that returns one, None to leave the nodes alone."""


def with_axis(spec: str) -> Spec:
    """Return a spec for calls with an axis only."""
    return lambda result, given: spec if isinstance(given.get("dim"), int) else None


def numbered(whole: str, along: str) -> Spec:
    """Return one spec for all elements, another along axes."""
    return lambda result, given: whole if given.get("dim") is None else along


def squeezed(result: Any, given: dict) -> str | None:
    """squeeze counts its forms: of all axes, of one, of several."""
    dim = given.get("dim")
    return None if dim is None else "SqueezeBackward1(input)" if isinstance(dim, int) else "SqueezeBackward2(input)"


def atleast(ndim: int) -> Spec:
    """at least ndim axes: unsqueezed."""
    return lambda result, given: "Unsqueeze(input)" if getattr(given.get("input"), "ndim", ndim) == ndim - 1 else None


def diagonals(result: Any, given: dict) -> str:
    """diag takes or makes a matrix."""
    return "DiagEmbed(input)" if result.ndim == 2 else "DiagonalBackward0_copy(input)"


def alpha_of(name: str) -> Spec:
    """The sum or difference with a factor is one operation."""
    return lambda result, given: f"{name}(input, other)" if given.get("alpha", 1) != 1 else None


def scattered(result: Any, given: dict) -> str:
    """scatter has a form for numbers."""
    value = given.get("src") if given.get("value") is None else given.get("value")
    return "Scatter(input, src)" if hasattr(value, "_data") else "ScatterBackward1(input)"


def summed(result: Any, given: dict) -> str | None:
    """einsum permutes and sums one operand, and multiplies two as stacks of matrices where something is summed."""
    equation = given.get("equation")
    if not isinstance(equation, str):
        return None
    parts, _, output = equation.replace(" ", "").partition("->")
    inputs = parts.split(",")
    letters = output or {c for c in parts if c.isalpha() and parts.count(c) == 1}
    if set(parts) - {","} <= set(letters) and ("->" in equation or len(inputs) > 1):
        return "Permute(operands)" if len(inputs) == 1 else "Mul(operands)"
    return "SumBackward1(operands)" if len(inputs) == 1 else "View(operands)"


FACE_NODES: dict[str, Spec] = {
    "add": alpha_of("Add"),
    "sub": alpha_of("Sub"),
    "rsub": lambda result, given: "Rsub(input, other)" if hasattr(given.get("other"), "_data") else None,
    "addcmul": "Addcmul(input, tensor1, tensor2)",
    "addcdiv": "Addcdiv(input, tensor1, tensor2)",
    "addmm": "Addmm(input, mat1, mat2)",
    "addmv": "Addmv(input, mat, vec)",
    "addr": "Addr(input, vec1, vec2)",
    "baddbmm": "Baddbmm(input, batch1, batch2)",
    "addbmm": "Addbmm(input, batch1, batch2)",
    "outer": "Mul(View(input), vec2)",
    "vdot": "Vdot(input, other)",
    "einsum": summed,
    "kron": "UnsafeView(Mul(UnsafeView(input), UnsafeView(other)))",
    "cross": "LinalgCross(input, other)",
    "cdist": "Cdist(x1, x2)",
    "dist": "Dist(input, other)",
    "ldexp": "Ldexp(input, other)",
    "renorm": "Renorm(input)",
    "polar": "Polar(abs, angle)",
    "complex_": "Complex(real, imag)",
    "sum_": lambda result, given: "SumBackward1(input)" if given.get("dim") is not None else None,
    "prod": with_axis("ProdBackward1(input)"),
    "var_mean": "VarMean(input)",
    "std_mean": "StdMean(input)",
    "nansum": "Nansum(input)",
    "nanmean": "Div(Nansum(input), none)",
    "trace": "Trace(input)",
    "aminmax": "Aminmax(input)",
    "max_": with_axis("Max(input)"),
    "min_": with_axis("Min(input)"),
    "median": with_axis("MedianBackward1(input)"),
    "nanmedian": with_axis("NanmedianBackward1(input)"),
    "mode": "Mode(input)",
    "kthvalue": "Kthvalue(input)",
    "cumsum": "Cumsum(input)",
    "logcumsumexp": "Logcumsumexp(input)",
    "squeeze": squeezed,
    "atleast_1d": atleast(1),
    "atleast_2d": atleast(2),
    "diag": diagonals,
    "diag_embed": "DiagEmbed(input)",
    "diagflat": "DiagEmbed(View(input))",
    "rot90": "Rot90Backward0(input)",
    "unfold": "Unfold(input)",
    "sum_to_size": "SumBackward1(input)",
    "repeat_interleave": lambda result, given: (
        "View(Clone(Expand(Unsqueeze(input))))" if isinstance(given.get("repeats"), int) else "IndexSelect(input)"
    ),
    "take": "Take(input)",
    "masked_select": "MaskedSelect(input)",
    "masked_scatter": "MaskedScatter(input, source)",
    "scatter": scattered,
    "scatter_add": "ScatterAdd(input, src)",
    "scatter_reduce": "ScatterReduce(input, src)",
    "index_add": "IndexAdd(input, source)",
}


UPSAMPLINGS = {
    **{"nearest": "Nearest", "nearest-exact": "NearestExact", "linear": "Linear", "bilinear": "Bilinear"},
    **{"bicubic": "Bicubic", "trilinear": "Trilinear"},
}


def interpolated(result: Any, given: dict) -> str | None:
    """One node for each mode and number of axes."""
    name = UPSAMPLINGS.get(given.get("mode", "nearest"))
    return f"Upsample{name}{result.ndim - 2}D(input)" if name else None


def padded(result: Any, given: dict) -> str | None:
    """One node for each mode and number of axes."""
    mode, axes = given.get("mode", "constant"), len(given["pad"]) // 2
    names = {"reflect": "ReflectionPad", "replicate": "ReplicationPad"}
    return "ConstantPadNd(input)" if mode == "constant" else f"{names[mode]}{axes}D(input)" if mode in names else None


def averaged(n: int) -> Spec:
    """One mean where each axis has one window."""

    def spec(result: Any, given: dict) -> str:
        single = all(length == 1 for length in result.shape[-n:])
        return "MeanBackward1(input)" if single else f"AdaptiveAvgPool{n}D(input)"

    return spec


def of_line(name: str) -> str:
    """What is done along a line is done in a plane of one row."""
    return f"SqueezeBackward1({name}(Unsqueeze(input)))"


def bilinear(result: Any, given: dict) -> str:
    """The bias is added."""
    products = "View(Trilinear(View(input1), weight, View(input2)))"
    return products if given.get("bias") is None else f"Add({products}, bias)"


def attended(result: Any, given: dict) -> str | None:
    """Stacks of stacks have a kernel of their own."""
    names = {4: "ScaledDotProductFlashAttentionForCpu", 3: "UnsafeView"}
    return f"{names[result.ndim]}(query, key, value)" if result.ndim in names else None


FUNCTIONAL_NODES: dict[str, Spec] = {
    **dict.fromkeys(
        ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
        "Convolution(input, weight, bias)",
    ),
    "smooth_l1_loss": "SmoothL1Loss(input, target)",
    "huber_loss": "HuberLoss(input, target)",
    "binary_cross_entropy": "BinaryCrossEntropy(input, target)",
    "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogits(input, target)",
    "soft_margin_loss": "SoftMarginLoss(input)",
    "multi_margin_loss": "MultiMarginLoss(input)",
    "multilabel_margin_loss": "MultilabelMarginLoss(input)",
    "embedding": "Embedding(weight)",
    "embedding_bag": "EmbeddingBag(weight, per_sample_weights)",
    "avg_pool1d": of_line("AvgPool2D"),
    "avg_pool2d": "AvgPool2D(input)",
    "avg_pool3d": "AvgPool3D(input)",
    "max_pool1d": of_line("MaxPool2DWithIndices"),
    "max_pool2d": "MaxPool2DWithIndices(input)",
    "max_pool3d": "MaxPool3DWithIndices(input)",
    "adaptive_avg_pool1d": of_line("AdaptiveAvgPool2D"),
    "adaptive_avg_pool2d": averaged(2),
    "adaptive_avg_pool3d": averaged(3),
    "adaptive_max_pool1d": of_line("AdaptiveMaxPool2D"),
    "adaptive_max_pool2d": "AdaptiveMaxPool2D(input)",
    "adaptive_max_pool3d": "AdaptiveMaxPool3D(input)",
    "batch_norm": "NativeBatchNorm(input, weight, bias)",
    "layer_norm": "NativeLayerNorm(input, weight, bias)",
    "group_norm": "NativeGroupNorm(input, weight, bias)",
    "instance_norm": "View(NativeBatchNorm(View(input), Repeat(weight), Repeat(bias)))",
    "interpolate": interpolated,
    "pad": padded,
    "unfold": "Im2Col(input)",
    "fold": "Col2Im(input)",
    "pixel_shuffle": "PixelShuffle(input)",
    "pixel_unshuffle": "PixelUnshuffle(input)",
    "grid_sample": lambda result, given: f"GridSampler{result.ndim - 2}D(input, grid)",
    "affine_grid": "AffineGridGenerator(theta)",
    "glu": "Glu(input)",
    "prelu": "PreluKernel(input, View(weight))",
    "rrelu": "RreluWithNoise(input)",
    "softsign": "Div(input, Add(Abs(input), none))",
    "tanhshrink": "Sub(input, Tanh(input))",
    "normalize": "Div(input, Expand(ClampMin(LinalgVectorNorm(input))))",
    "pairwise_distance": "NormBackward1(AddBackward1(Sub(x1, x2)))",
    "pdist": "Pdist(input)",
    "bilinear": bilinear,
    "scaled_dot_product_attention": attended,
}


def showing(function: Callable, spec: Spec) -> Callable[[Any, tuple, dict], Any]:
    """Return a function of the result of a call and its arguments that has the nodes shown as the spec says."""
    names = list(inspect.signature(function).parameters)

    def show(result: Any, args: tuple, kwargs: dict) -> Any:
        if getattr(result, "_node", None) is None and not isinstance(result, tuple):
            return result
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        found = spec if isinstance(spec, str) else spec(result, given)
        return result if found is None else as_one(found, result, given)

    return show
