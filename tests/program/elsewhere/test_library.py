"""Functions of a C library, compiled here: right and wrong derivatives, and such as crash."""

import shutil
import time
from pathlib import Path

import pytest

from ...command import compile_c
from .run import gradcheck, message_of, verdicts

KERNELS = Path(__file__).with_name("kernels.c")
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
F, X = "libk.so:double f(int n, const double *x)", "x=[1,2,3]"
H = "libk.so:void h(int n, const double *x, int m, double *y)"
Y1 = ("--shape", "y=1")
E = "libk.so:int e(size_t n, const double *x, double *y)"
S = "libk.so:float s(float a, const float x[2])"
PAIR = "libk.so:double pair(int nx, const double *x, int ny, const double *y)"
F_GRAD = ("--grad", "void f_grad(int n, const double *x, double *g)")
H_B = ("--vjp", "void h_b(int n, const double *x, double *xb, int m, double *y, double *yb)")
H_BAR = "void h_bar(int n, const double *x, int m, const double *y, const double *y_bar, double *x_bar)"
E_B = "int e_b(size_t n, const double *x, const double *y, const double *grad_y, double *grad_x)"
S_GRAD = ("--grad", "void s_grad(float a, const float *x, float *da, float *dx)")
Q = "libk.so:void sum_of_squares(int n, const double *x, double *y)"
Q_B = ("--vjp", "void sum_of_squares_b(int n, const double *x, double yb, double *xb)")
PAIR_GRAD = "void pair_grad(int nx, const double *x, int ny, const double *y, double *first, double *second)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("library")
    compile_c(KERNELS, place / "libk.so")
    return place


RIGHT = [
    (F, *F_GRAD, X),
    (F, *F_GRAD, "--shape", "x=4", "--samples", "3"),
    (F, *F_GRAD, X, "n=2"),
    (F, "--vjp", "void f_b(int n, const double *x, double *xb, double fb)", X),
    (H, *H_B, X, "--shape", "y=2"),
    (H, *H_B, X, "m=2"),
    (H, "--vjp", H_BAR, X, "m=4"),
    (H, "--grad", "void h_jacobian(int n, const double *x, int m, double *jacobian)", X, "m=2"),
    (E, "--vjp", E_B, X, "--shape", "y=3"),
    (S, *S_GRAD, "a=2", "x=[1,3]"),
    (S, *S_GRAD, "a=2", "x=[1,3]", "--wrt", "x"),
    (Q, *Q_B, X),
    (Q, *Q_B, X, "--shape", "y=1"),
    ("libk.so:double cube(double t)", "--grad", "double cube_grad(double t)", "t=1.5"),
    (PAIR, "--grad", PAIR_GRAD, "x=[1,2]", "y=[0.5,1,2]"),
]


@pytest.mark.parametrize("words", RIGHT, ids=lambda words: " ".join(words)[8:60])
def test_right_ones_pass(words, folder):
    code, found, errors = gradcheck(*words, cwd=folder)
    assert (code, verdicts(found)) == (0, ["pass"]), (found, errors)


def test_a_wrong_sign_fails(folder):
    claim = "void f_sign(int n, const double *x, double *g)"
    code, found, _ = gradcheck(F, "--grad", claim, X, cwd=folder)
    assert (code, verdicts(found)) == (1, ["fail"])
    worst = found["checks"][0]["inputs"]["x"]["worst"]
    # d/dx = 2 x sin x + x^2 cos x at 3
    assert worst["numeric"] == pytest.approx(6 * 0.1411200080598672 - 9 * 0.9899924966004454, rel=1e-9)
    assert f"--grad '{claim}'" in found["checks"][0]["replay"]


def test_a_backward_that_ignores_its_cotangent_fails(folder):
    code, found, _ = gradcheck(F, "--vjp", F_GRAD[1], X, cwd=folder)
    assert (code, verdicts(found)) == (1, ["fail"])
    assert "grad_output" in found["checks"][0]["diagnosis"][0]["text"]


def test_what_is_handed_over_is_as_declared(folder):
    """Swapped names of cotangent and gradient: nothing is ever written to what is read back."""
    swapped = "void h_b(int n, const double *x, double *yb, int m, double *y, double *xb)"
    code, found, _ = gradcheck(H, "--vjp", swapped, X, "--shape", "y=3", cwd=folder)
    assert (code, verdicts(found)) == (1, ["fail"])


def test_single_precision_is_what_the_library_has(folder):
    code, found, _ = gradcheck(S, *S_GRAD, "a=2", "x=[1,3]", cwd=folder)
    assert code == 0
    assert found["checks"][0]["inputs"]["x"]["digits"] < 9


DEATHS = [("f_crash", "SIGSEGV"), ("f_exit", "ended with status 3"), ("f_abort", "SIGABRT"), ("f_hang", "--timeout")]


@pytest.mark.parametrize("name, message", DEATHS, ids=[name for name, _ in DEATHS])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_crash_is_an_error_and_nothing_else(name, message, jobs, folder):
    start = time.monotonic()
    derivative = f"void {name}(int n, const double *x, double *g)"
    code, found, _ = gradcheck(F, F, "--grad", derivative, X, "--timeout", "1", "-j", jobs, cwd=folder)
    assert time.monotonic() - start < 30
    assert (code, verdicts(found)) == (3, ["error", "error"])
    for check in found["checks"]:
        assert message in check["message"]
        assert name != "f_crash" or "about to fall" in check["message"]
        assert name != "f_exit" or "so long 3 1" in check["message"]


@pytest.mark.parametrize(
    "words, code, message",
    [
        ((F, X), 2, "against a derivative from it"),
        ((Q, *Q_B, X, "--shape", "y=2"), 3, "'yb' is declared as one number"),
        ((F, "--grad", "g", X), 2, "no declaration"),
        ((F, *F_GRAD), 2, "needs a value for 'x'"),
        ((F, *F_GRAD, X, "y=1"), 2, "no parameter 'y'"),
        ((F, "--grad", "void f_grad(int n, const double *x, double *p, double *q)", X), 2, "'p' stands for"),
        ((F, "--grad", "void f_grad(int n, int k, const double *x, double *g)", X), 2, "needs a value for 'k'"),
        ((F, "--grad", "void f_grad(int n, const double *x)", X), 2, "gives no derivative for 'x'"),
        ((F, "--grad", "void f_none(int n, const double *x, double *g)", X), 3, "undefined symbol: f_none"),
        ((H, "--vjp", "void h_b(int n, const double *x, double *xb, const double *yb)", X), 2, "'y' cannot be known"),
        (("no.so:double f(double x)", "--grad", "double g(double x)", "x=1"), 2, "no such file"),
        (("text.so:double f(double x)", "--grad", "double g(double x)", "x=1"), 3, "text.so"),
        ((F, *F_GRAD, X, "--safe"), 2, "--safe"),
        ((F, *F_GRAD, X, "n=1.5"), 2, "'n' is an integer"),
        ((E, "--vjp", "int e_b(int n, const double *x, double *y, double *yb, double *xb)", "x=900", "n=1", *Y1),
         3, "e returned 7"),
    ],
)  # fmt: skip
def test_what_goes_wrong(words, code, message, folder):
    (folder / "text.so").write_text("no library")
    got, found, _ = gradcheck(*words, cwd=folder)
    assert (got, message in message_of(found)) == (code, True), found
