"""Right and wrong derivatives are told apart, and the command notices nothing; tests/cases/watch.txt has the rest."""

import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from gradcli.check import watched
from gradcli.check.in_command.gradcli_watch_importlib_bootstrap import Derivative, Use
from gradcli.check.watch import read_report
from gradcli.check.watched import numeric_gradient, worst_of
from gradcli.show.check_results import CheckReport
from tests.command import gradcli, run

HEAD = "import numpy as np\nfrom scipy import integrate, optimize\n"
VALLEY = """
def f(x): return 100*(x[1]-x[0]**2)**2 + (1-x[0])**2
def g(x): return np.array([-400*x[0]*(x[1]-x[0]**2) - 2*(1-x[0]), 200*(x[1]-x[0]**2)])
def h(x): return np.array([[1200*x[0]**2 - 400*x[1] + 2, -400*x[0]], [-400*x[0], 200.0]])
def fg(x): return f(x), g(x)
def bad_g(x): return 1.01*g(x)
def bad_h(x): return h(x) + np.array([[0, 0], [0, 10]])
def bad_fg(x): return f(x), g(x)*np.array([1, 1.001])
def hp(x, p): return h(x)@p
def bad_hp(x, p): return -h(x)@p
start = [-1.2, 1.0]
"""
EXPONENTIAL = """
t = np.linspace(0, 1, 9); y = 2*np.exp(-1.5*t)
def m(t, a, b): return a*np.exp(-b*t)
def mj(t, a, b): return np.stack([np.exp(-b*t), -a*t*np.exp(-b*t)], 1)
def bad_mj(t, a, b): return np.stack([np.exp(-b*t), -a*np.exp(-b*t)], 1)
def r(p, t, y): return m(t, *p) - y
def J(p, t, y): return mj(t, *p)
def JT(p, t, y): return J(p, t, y).T
def bad_J(p, t, y): return bad_mj(t, *p)
"""
CUBE = """
def f(x, a): return x**3 - a
def d(x, a): return 3*x**2
def dd(x, a): return 6*x
def bad_d(x, a): return 3.01*x**2
def bad_dd(x, a): return 6*x**2
def all_three(x): return x**3 - 1, 3*x**2, 6.3*x
"""
SCRIPTS = {
    "gradients and Hessians, a right one beside a wrong gradient too": (
        VALLEY + "print(optimize.minimize(f, start, jac=g).success, optimize.minimize(fg, start, jac=True).success)\n"
        "optimize.minimize(bad_fg, start, jac=True); optimize.minimize(f, start, jac='2-point')\n"
        "print(optimize.fmin_bfgs(f, start, g, disp=0).round(3)); optimize.fmin_l_bfgs_b(f, start, fprime=bad_g)\n"
        "print(optimize.minimize(f, start, jac=g, hess=h, method='trust-exact').x.round(3))\n"
        "optimize.minimize(f, start, jac=g, hess=bad_h, method='Newton-CG')\n"
        "optimize.minimize(f, start, jac=g, hessp=hp, method='trust-ncg')\n"
        "optimize.minimize(f, start, jac=g, hessp=bad_hp, method='trust-ncg', options={'maxiter': 3})\n"
        "optimize.minimize(f, start, jac=bad_g, hess=h, method='Newton-CG')",
        {"bad_fg", "bad_g", "bad_h", "bad_hp"},
        {"g", "fg", "h", "hp"},
    ),
    "constraints and differential equations": (
        """
def f(x): return (x[0]-1)**2 + (x[1]-2.5)**2
def g(x): return np.array([2*(x[0]-1), 2*(x[1]-2.5)])
def c(x): return np.array([x[0]**2 + x[1], x[0]*x[1]])
def cj(x): return np.array([[2*x[0], 1.0], [x[1], x[0]]])
def ch(x, v): return v[0]*np.array([[2.0, 0], [0, 0]]) + v[1]*np.array([[0, 1.0], [1.0, 0]])
def bad_ch(x, v): return v[0]*np.array([[2.0, 0], [0, 0]]) + v[1]*np.array([[0, 1.0], [0.0, 0]])
def d(x, a): return a - x@x
def dj(x, a): return -2*x
def bad_dj(x, a): return 2*x
for hess in (ch, bad_ch):
    bound = optimize.NonlinearConstraint(c, -5, [2.0, 1.0], jac=cj, hess=hess)
    print(optimize.minimize(f, [1.0, 0.5], jac=g, constraints=[bound], method="trust-constr").x.round(2))
for jac in (dj, bad_dj):
    optimize.minimize(f, [1.0, 0.5], jac=g, constraints={"type": "ineq", "fun": d, "jac": jac, "args": (3.0,)})
def f(t, y, k): return [y[1], k*(1-y[0]**2)*y[1] - y[0]]
def J(t, y, k): return np.array([[0, 1], [-2*k*y[0]*y[1] - 1, k*(1-y[0]**2)]])
def bad_J(t, y, k): return np.array([[0, 1], [-2*k*y[0]*y[1], k*(1-y[0]**2)]])
def g(y, t, k): return f(t, y, k)
def G(y, t, k): return J(t, y, k)
print(integrate.solve_ivp(f, (0, 5), [2, 0], method="BDF", jac=J, args=(50,)).success)
integrate.solve_ivp(f, (0, 5), [2, 0], method="Radau", jac=bad_J, args=(50,))
print(integrate.odeint(g, [2, 0], [0, 1, 5], args=(50,), Dfun=G).shape)
""",
        {"bad_ch", "bad_dj", "bad_J"},
        {"g", "cj", "ch", "dj", "J", "G"},
    ),
    "residuals, roots and systems": (
        EXPONENTIAL + "print(optimize.least_squares(r, [1, 1], jac=J, args=(t, y)).x.round(3))\n"
        "optimize.least_squares(r, [1, 1], jac=bad_J, args=(t, y), max_nfev=4)\n"
        "print(optimize.leastsq(r, [1, 1], args=(t, y), Dfun=JT, col_deriv=1)[0].round(3))\n"
        "print(optimize.curve_fit(m, t, y, jac=mj)[0].round(3)); optimize.curve_fit(m, t, y, [2, 1.4], jac=bad_mj)\n"
        + CUBE
        + "print(optimize.root_scalar(f, args=(1,), x0=0.4, fprime=d, fprime2=dd, method='halley').root)\n"
        "optimize.root_scalar(f, args=(1,), x0=0.4, fprime=bad_d, method='newton')\n"
        "optimize.root_scalar(all_three, x0=0.4, fprime=True, fprime2=True, method='halley')\n"
        "print(optimize.newton(f, [1.0, 2.0], fprime=d, fprime2=bad_dd, args=(2.0,)))\n"
        "print(optimize.newton(np.sin, 3, np.cos))"
        """
def f(x): return np.array([x[0]*np.cos(x[1]) - 4, x[1]*x[0] - x[1] - 5])
def K(x): return np.array([[np.cos(x[1]), -x[0]*np.sin(x[1])], [x[1], x[0] - 1]])
def fK(x): return f(x), K(x)
def bad_K(x): return np.array([[np.cos(x[1]), x[0]*np.sin(x[1])], [x[1], x[0] - 1]])
print(optimize.fsolve(f, [1, 1], fprime=K).round(3), optimize.root(fK, [1, 1], jac=True).x.round(3))
optimize.root(f, [1, 1], jac=bad_K)
from scipy.sparse.linalg import LinearOperator
def operator(p, left, right):
    j = J(p, t, y)
    return LinearOperator(j.shape, matvec=lambda v: right*(j@v), rmatvec=lambda u: left*(j.T@u), dtype=float)
def good(p, t, y): return operator(p, 1, 1)
def bad_left(p, t, y): return operator(p, 1.02, 1)
def bad_right(p, t, y): return operator(p, 1, 1.02)
for jac in good, bad_left, bad_right:
    optimize.least_squares(r, [1.0, 1.0], jac=jac, args=(t, y), tr_solver="lsmr", max_nfev=5)
""",
        {"bad_J", "bad_mj", "bad_d", "bad_dd", "all_three", "bad_K", "bad_left", "bad_right"},
        {"J", "JT", "mj", "d", "dd", "all_three", "cos", "K", "fK", "good"},
    ),
    "one wrapper around functions of several users, the third wrong, and a gradient that uses what its function kept": (
        """
class Model:
    def __init__(self, f, slope): self.f, self.slope = f, slope
    def value(self, x): return self.f(x)
    def gradient(self, x): return self.slope(x)
def closed(f, slope):
    def inner(x): return slope(x)
    optimize.minimize(lambda x: f(x), [1.0, 2.0], jac=inner)
def f(x): return (x**4).sum()
def slope(x): return 4*x**3
def bad_slope(x): return 4*x**3 + 1
for g in slope, slope, bad_slope, slope, slope, slope:
    model = Model(f, g)
    optimize.minimize(model.value, [1.0, 2.0], jac=model.gradient)
    closed(f, g)
class Model:
    def f(self, x): self.r = x**3 - 1; return (self.r**2).sum()
    def g(self, x): return 6*self.r*x**2
model = Model()
print(optimize.minimize(model.f, [2.0, 3.0], jac=model.g).x.round(3))
""",
        {"gradient", "inner"},
        {"g"},
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_solvers(name, tmp_path):
    source, wrong, right = SCRIPTS[name]
    (tmp_path / "fit.py").write_text(HEAD + source)
    alone = run([sys.executable, "fit.py"], cwd=tmp_path)
    done = gradcli("watch", "-f", "tsv", "--", sys.executable, "fit.py", cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    assert done.stdout == alone.stdout
    rows = [line.split("\t") for line in done.stderr.splitlines()]
    assert {row[2] for row in rows if row[0] == "fail"} == wrong, done.stderr
    assert {row[2] for row in rows if row[0] == "pass"} == right, done.stderr
    assert {row[0] for row in rows} <= {"pass", "fail"}
    assert done.returncode == bool(wrong)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes(method, tmp_path):
    (tmp_path / "fit.py").write_text(f"""
import multiprocessing, numpy as np
from scipy.optimize import minimize
def f(x): return ((x - 1)**4).sum()
def g(x): return 3*(x - 1)**3
def work(k): return minimize(f, np.ones(2)*k, jac=g, options={{"maxiter": 2}}).nit
if __name__ == "__main__":
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        print(len(pool.map(work, [3, 4, 5])))
        pool.close()
        pool.join()
""")
    done = gradcli("watch", "-f", "tsv", "--", sys.executable, "fit.py", cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("3\n", 1), done.stderr
    assert [line.split("\t")[:5] for line in done.stderr.splitlines()] == [
        ["fail", "jac of minimize", "g", "fit.py", "5"]
    ]


def test_warnings_and_errors_of_the_command_are_its_own(tmp_path):
    (tmp_path / "fit.py").write_text("""
import warnings, numpy as np
from scipy.optimize import minimize
def f(x):
    warnings.warn("from inside", stacklevel=2)
    return (x**2).sum()
def g(x): return 2*x
print(minimize(f, [1.0, 2.0], jac=g, method="Nelder-Mead").success)
def h(x): raise ValueError("no slope here")
minimize(f, [1.0, 2.0], jac=h)
""")
    alone = run([sys.executable, "fit.py"], cwd=tmp_path)
    done = gradcli("watch", "--", sys.executable, "fit.py", cwd=tmp_path)
    assert (done.stdout, done.returncode) == (alone.stdout, 1)
    assert done.stderr == alone.stderr + "no derivative was handed over\n"


def test_a_function_that_hangs_or_ends_its_process_is_an_error(tmp_path):
    (tmp_path / "fit.py").write_text("""
import os, time
from scipy.optimize import minimize
over = []
def f(x): return (x**2).sum()
def hangs(x): over and time.sleep(100); return 2*x
def leaves(x): over and os._exit(3); return 2*x
print(minimize(f, [1.0, 2.0], jac=hangs).success, minimize(f, [1.0, 2.0], jac=leaves).success)
over.append(1)
""")
    done = gradcli(
        "watch", "--timeout", "1", "--points", "1", "-f", "tsv", "--", sys.executable, "fit.py", cwd=tmp_path
    )
    assert (done.stdout, done.returncode) == ("True True\n", 0)
    rows = [line.split("\t") for line in done.stderr.splitlines()]
    assert [(row[0], row[2]) for row in rows] == [("error", "hangs"), ("error", "leaves")]
    assert "longer than 1 s" in rows[0][-1]
    assert "status 3" in rows[1][-1]


def test_a_slow_function_gets_as_few_calls_as_its_time_allows(tmp_path):
    (tmp_path / "fit.py").write_text("""
import time
import numpy as np
from scipy.optimize import minimize
def f(x): time.sleep(0.05); return x @ x
def g(x): return 2*x
def bad_g(x): return 2.1*x
for jac in g, bad_g:
    minimize(f, np.array([1.0, 2.0, 3.0]), jac=jac, options={"maxiter": 1})
""")
    done = gradcli(
        "watch", "--timeout", "3", "--points", "1", "-f", "tsv", "--", sys.executable, "fit.py", cwd=tmp_path
    )
    assert [line.split("\t")[0] for line in done.stderr.splitlines()] == ["pass", "fail"], done.stderr


def test_a_use_at_the_same_point_is_no_other_point(tmp_path):
    (tmp_path / "fit.py").write_text("""
import numpy as np
from scipy.optimize import minimize
def f(x): return ((x - 1)**4).sum()
def g(x): return 4*(x - 1)**3
for _ in range(3):
    minimize(f, np.array([2.0, 3.0]), jac=g, options={"maxiter": 0})
""")
    done = gradcli("watch", "-f", "tsv", "--", sys.executable, "fit.py", cwd=tmp_path)
    assert done.stderr.split("\t")[5:7] == ["1", "3"], done.stderr


def test_numeric_gradient():
    """Of exp(x0) sin(x1), and element by element of x^3: 3 x^2."""
    import numpy as np

    x = np.array([0.5, 2.0])
    expected = np.exp(0.5) * np.array([np.sin(2.0), np.cos(2.0)])
    assert np.allclose(numeric_gradient(lambda x: np.exp(x[0]) * np.sin(x[1]), x), expected, rtol=1e-11, atol=0)
    assert np.allclose(numeric_gradient(lambda x: x**3, x, each=True), 3 * x**2, rtol=1e-11, atol=0)


def test_a_point_without_time_left_hides_no_error():
    derivative = SimpleNamespace(role="jac of minimize", name="g", calls=4)
    hung = CheckReport("g", None, None, "error", 30.0, message="this takes longer than 30 s")
    late = CheckReport("g", None, None, "inconclusive", 0.0, message="not judged")
    use = SimpleNamespace(claim=len)
    found = worst_of(derivative, [(use, late), (use, hung)])
    assert (found.report.verdict, found.points) == ("error", 1)
    assert worst_of(derivative, [(use, late)]).report.verdict == "inconclusive"


def test_half_of_what_was_found_is_none(tmp_path):
    whole = pickle.dumps((3, "found"))
    (tmp_path / "report").write_bytes(whole + pickle.dumps((4, "more"))[:-3])
    assert read_report(tmp_path / "report") == {3: "found"}


def test_what_is_slow_leaves_time_for_the_others(monkeypatch):
    """Each is judged once before one is judged again, and what is known by then is told each time."""
    derivatives = [Derivative("jac of minimize", name, "fit.py", 1, 3) for name in "ab"]
    for derivative in derivatives:
        for number in (1, 2, 3):
            derivative.keep(Use(number, "whole", None, None, (), 0, np.full(1, number), *[None] * 4, None, None))
    judged = []

    def run_in_time(checks, *_):
        judged.extend((check.derivative.name, check.use.number) for check in checks)
        for i, check in enumerate(checks):  # the last is one for which no time is left
            yield CheckReport(check.name, "fit.py", 1, "pass" if i < 5 else "inconclusive", 1.0 if i < 5 else 0.0)

    monkeypatch.setattr(watched, "run_in_time", run_in_time)
    found = watched.judge_uses(derivatives, {"calls": None, "points": 3, "timeout": 1.0}, 9.0)
    known = [(number, item.points) for number, item in map(pickle.loads, found)]
    assert judged == [("a", 1), ("b", 1), ("a", 3), ("b", 3), ("a", 2), ("b", 2)]
    assert known == [(0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 2)]
