"""Derivatives of PyTorch's and JAX's own functions are right, and pass."""

import pkgutil

import numpy as np
import pytest

from gradcli.check.declare import check_gradient

RNG = np.random.default_rng(20)
X, Y = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4))
POSITIVE = RNG.uniform(0.5, 3, (3, 4))
UNIT = RNG.uniform(0.1, 0.9, (3, 4))
LABELS = np.array([0, 2, 1])

TORCH = [
    *((name, {"x": X}) for name in "softmax log_softmax".split()),
    *(
        (name, {"x": X})
        for name in "relu gelu silu elu selu celu mish tanh sigmoid softplus softsign hardswish hardtanh leaky_relu "
        "logsigmoid tanhshrink relu6 softshrink hardshrink normalize".split()
    ),
    *((name, {"x": X, "y": Y}) for name in "mse_loss l1_loss smooth_l1_loss huber_loss cosine_similarity".split()),
    ("pairwise_distance", {"x": X, "y": Y}),
    ("soft_margin_loss", {"x": X, "y": np.sign(Y).astype(int)}),
    ("binary_cross_entropy", {"x": UNIT, "y": UNIT[::-1].copy()}),
    ("binary_cross_entropy_with_logits", {"x": X, "y": UNIT}),
    ("kl_div", {"x": X, "y": POSITIVE}),
    ("poisson_nll_loss", {"x": X, "y": POSITIVE}),
    ("gaussian_nll_loss", {"x": X, "y": Y, "v": POSITIVE}),
    ("cross_entropy", {"x": X, "y": LABELS}),
    ("nll_loss", {"x": X, "y": LABELS}),
    ("multi_margin_loss", {"x": X, "y": LABELS}),
    ("linear", {"x": X, "w": RNG.standard_normal((2, 4)), "b": RNG.standard_normal(2)}),
    ("bilinear", {"x": X, "y": Y, "w": RNG.standard_normal((2, 4, 4))}),
    ("layer_norm", {"x": X}),
    ("conv1d", {"x": RNG.standard_normal((1, 2, 6)), "w": RNG.standard_normal((3, 2, 3))}),
    ("conv2d", {"x": RNG.standard_normal((1, 1, 4, 4)), "w": RNG.standard_normal((2, 1, 3, 3))}),
    ("conv_transpose1d", {"x": RNG.standard_normal((1, 2, 4)), "w": RNG.standard_normal((2, 2, 3))}),
    ("avg_pool1d", {"x": RNG.standard_normal((1, 2, 6)), "k": 2}),
    ("max_pool1d", {"x": RNG.standard_normal((1, 2, 6)), "k": 2}),
    ("scaled_dot_product_attention", {"q": X[None], "k": Y[None], "v": POSITIVE[None]}),
    ("embedding", {"i": LABELS, "w": RNG.standard_normal((3, 2))}),
    ("triplet_margin_loss", {"a": X, "p": Y, "n": POSITIVE}),
    ("pixel_shuffle", {"x": RNG.standard_normal((1, 4, 2, 2)), "k": 2}),
    ("unfold", {"x": RNG.standard_normal((1, 1, 3, 3)), "k": 2}),
    ("glu", {"x": X}),
]
FIXED = {"layer_norm": {"normalized_shape": (4,)}, "softmax": {"dim": -1}, "log_softmax": {"dim": -1}}
JAX = [
    *(
        (f"nn.{name}", {"x": X})
        for name in "relu gelu silu elu selu celu softplus soft_sign sigmoid log_sigmoid softmax log_softmax "
        "standardize logsumexp squareplus mish hard_tanh glu".split()
    ),
    *((f"scipy.special.{name}", {"x": POSITIVE}) for name in "gammaln digamma erf erfc i0 i1 i0e xlogy".split()[:7]),
    *((f"scipy.special.{name}", {"x": UNIT}) for name in "logit expit ndtri entr erfinv log_ndtr ndtr".split()),
    ("scipy.special.xlogy", {"x": POSITIVE, "y": POSITIVE}),
    ("scipy.special.logsumexp", {"x": X}),
    ("scipy.stats.norm.logpdf", {"x": X, "mu": Y, "s": POSITIVE}),
    ("scipy.stats.gamma.logpdf", {"x": POSITIVE, "a": POSITIVE[::-1].copy()}),
    ("scipy.stats.t.logpdf", {"x": X, "df": POSITIVE}),
    ("scipy.stats.beta.logpdf", {"x": UNIT, "a": POSITIVE, "b": POSITIVE[::-1].copy()}),
    ("scipy.linalg.expm", {"x": X[:, :3]}),
    ("numpy.linalg.cholesky", {"x": X @ X.T + 4 * np.eye(3)}),
]


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")  # PyTorch's advice on kl_div
@pytest.mark.framework("torch")
@pytest.mark.parametrize(("name", "at"), TORCH, ids=[name for name, _ in TORCH])
def test_torch_functions_pass(name, at):
    import torch.nn.functional as F

    function = getattr(F, name)
    more = FIXED.get(name, {})
    report = check_gradient(lambda *args: function(*args, **more), at=at, engine="torch")
    assert report.verdict == "pass", report


@pytest.mark.framework("jax")
@pytest.mark.parametrize(
    ("name", "at"),
    [
        pytest.param(name, at, id=name, marks=[pytest.mark.nightly] if k % 10 else [])
        for k, (name, at) in enumerate(JAX)
    ],
)
def test_jax_functions_pass(name, at):
    import jax
    import jax.scipy.linalg
    import jax.scipy.special
    import jax.scipy.stats.beta
    import jax.scipy.stats.gamma
    import jax.scipy.stats.norm
    import jax.scipy.stats.t

    function = jax
    for part in name.split("."):
        function = getattr(function, part)
    report = check_gradient(function, at=at, engine="jax")
    assert report.verdict == "pass", report


SYMMETRIC = X @ X.T + 4 * np.eye(3)
OF_SYMMETRIC = [
    *(("torch", f"torch.linalg.{name}") for name in "cholesky eigvalsh".split()),
    *(("jax", f"jax.{name}") for name in "scipy.linalg.cholesky scipy.linalg.eigh lax.linalg.cholesky".split()),
    ("autograd", "autograd.numpy.linalg.cholesky"),
]

SYMMETRIZING = ("jax.scipy.linalg.eigh", "jax.lax.linalg.cholesky")


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        pytest.param(*row, marks=[pytest.mark.framework(row[0]), *([pytest.mark.nightly] if slow else [])], id=row[1])
        for row in OF_SYMMETRIC
        for slow in [row[0] == "jax" and row[1].endswith("cholesky")]
    ],
)
def test_functions_of_symmetric_matrices_pass(engine, name):
    """If they read one triangle, gradients are right only for symmetric changes: they pass, and the message says so."""
    function = pkgutil.resolve_name(f"{name.rpartition('.')[0]}:{name.rpartition('.')[2]}")
    take = (lambda a: function(a)[0]) if name.endswith("eigh") else function
    report = check_gradient(take, at={"a": SYMMETRIC}, engine=engine)
    assert report.verdict == "pass", report
    assert ("symmetric" in report.message) == (name not in SYMMETRIZING)
