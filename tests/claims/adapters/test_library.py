"""Parsing of C declarations as they are written in headers."""

import pytest

from gradcli.claims.adapters.library import read_declaration
from gradcli.errors import GradcliError

F, D = "float32", "float64"


@pytest.mark.parametrize(
    "text, name, returns, parameters",
    [
        ("double f(int n, const double *x)", "f", D, [("n", "whole", "int"), ("x", "input", D)]),
        ("double f(int n, double const * x);", "f", D, [("n", "whole", "int"), ("x", "input", D)]),
        ("float g(float a, const float x[3])", "g", F, [("a", "number", F), ("x", "input", F)]),
        ("void h(const double *restrict x, double *y)", "h", "void", [("x", "input", D), ("y", "output", D)]),
        ("extern int k(size_t n, double y[])", "k", "int", [("n", "whole", "size_t"), ("y", "output", D)]),
        ("double\nf(long int n,\n  const double*x)", "f", D, [("n", "whole", "long"), ("x", "input", D)]),
        ("double f(unsigned long long int n, double x)", "f", D, [("n", "whole", "ulonglong"), ("x", "number", D)]),
        ("double f(const double x)", "f", D, [("x", "number", D)]),
        ("double one(void)", "one", D, []),
        ("static inline double f(int32_t n, int64_t m)", "f", D, [("n", "whole", "int32"), ("m", "whole", "int64")]),
    ],
)
def test_declarations(text, name, returns, parameters):
    found = read_declaration(text)
    assert (found.name, found.returns) == (name, returns)
    assert [tuple(p) for p in found.parameters] == parameters


@pytest.mark.parametrize(
    "text",
    [
        "f", "f(x)", "double f(int, const double *)", "char *f(int n)", "double *f(int n)", "double f(const char *s)",
        "double f(int *n)", "double f(double **x)", "double f(double x[3][3])", "double f(double x, double x)",
        "double f(struct point p)", "double f(double (*g)(double))",
    ],
)  # fmt: skip
def test_unsupported_declarations_are_errors(text):
    with pytest.raises(GradcliError) as raised:
        read_declaration(text)
    assert raised.value.kind == "usage"


def test_a_parameter_without_a_name_is_reported():
    with pytest.raises(GradcliError, match="the parameter 'double' cannot be read"):
        read_declaration("double f(double x, double)")
