"""Samples of wrong derivatives fail as documented if the release they need is installed, and are skipped otherwise.

`make test-found` runs this in an environment for each of the releases.
"""

import json
import re
import sys
from collections import defaultdict
from importlib import metadata

import pytest

from .command import ROOT, run

FOLDER = ROOT / "samples" / "found"
REQUIRED = re.compile(r'^require\("(.*)", "(.*)"\)$', re.M)
RELEASES = {path.stem: REQUIRED.findall(path.read_text()) for path in FOLDER.glob("*.py") if path.stem != "released"}

# The wrong elements, according to each file's description of the mistake.
WRONG = {
    "astropy_hermite2d_evaluate": {4, 5},  # the coefficients of H_2(y)
    "astropy_drude1d_fit_deriv": {1},
    "cvxpy_cummax_grad": set(),  # the shape is wrong
    "cvxpy_division_grad": {0, 1},
    "gpy_logistic_basis_update_gradients_full": {1},
    "gsw_enthalpy_second_derivatives": {0},
    "jax_spence_grad": {0},
    "jaxopt_isotonic_l2_pav": {0, 1, 2},
    "ngboost_laplace_crps_d_score": {1},
    "paramz_negative_exponent_gradfactor": {0},
    "pints_twisted_gaussian_evaluate_s1": {0},
    "pvlib_bishop88_gradients": {0},
    "pytorch_wavelets_sfb1d_backward": {0, 3, 4, 7},  # near the ends of the low and of the high coefficients
    "pytorch_wavelets_sfb2d_backward": {0, 1, 2, 3, 4, 7, 8, 11, 12, 13, 14, 15},  # the edge of a square
    "scipy_itairy": {0},
    "scipy_lqn": {0},
    "scipy_obl_rad2": {0},
    "sklearn_kl_divergence": {0, 1, 2, 3},
    "sklearn_mlp_loss_grad_lbfgs": {0, 1, 2, 3, 4, 5},
    "smt_krg_predict_variances": {0},
    "statsmodels_negative_binomial_hessian": {0, 1, 2},
    "statsmodels_negative_binomial_p_hessian": {0, 1},
    "statsmodels_ols_hessian": {0, 1},
    "statsmodels_transf_frank_deriv": {0},
    "statsmodels_transf_gumbel_deriv2": {0},
    "statsmodels_truncated_generalized_poisson_score": {0, 1, 2},
    "statsmodels_truncated_negative_binomial_p_score": {0, 1, 2},
    "statsmodels_zero_inflated_poisson_hessian": {1, 2},
    "symfit_constraint_hess": {0},
    "symfit_resize_hess": set(),  # the shape is wrong
    "thermo_prsv_d3a_alpha_dt3": {0},
    "umap_bray_curtis_grad": {1, 2},  # where x + y < 0
    "umap_diagonal_gaussian_energy_grad": set(),  # the shape is wrong
    "umap_gaussian_energy_grad": {2, 3, 4},
    "umap_symmetric_kl_grad": {0, 1, 2},
}


def wrong_elements(check):
    (item,) = check["inputs"].values() or [{"elements": []}]
    return {element["index"][0] for element in item["elements"] if element["verdict"] == "fail"}


def version_of(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def test_samples_fail_as_documented_or_are_skipped():
    done = run([sys.executable, "-m", "gradcli", "gradcheck", FOLDER, "--show", "all", "-f", "json"])
    checks = defaultdict(list)
    for check in json.loads(done.stdout)["checks"]:
        checks[check["file"].rpartition("/")[2].removesuffix(".py")].append(check)
    assert checks.keys() == RELEASES.keys() == WRONG.keys()
    for name, ((package, version),) in RELEASES.items():
        installed = version_of(package)
        if installed != version:
            reason = "which is not installed" if installed is None else f"but {installed} is installed"
            told = [(check["verdict"], check["message"]) for check in checks[name]]
            assert told == [("skipped", f"needs {package} {version}, {reason}")]
            continue
        for check in checks[name]:
            right = check["name"].startswith("right formula")
            assert check["verdict"] == ("pass" if right else "fail"), check
            assert wrong_elements(check) == (set() if right else WRONG[name]), check
        assert len(checks[name]) % 2 == 0


def test_a_wrong_formula_is_not_proven(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    from released import prove

    def product(x):
        return x[0] ** 2 * x[1]

    prove(product, lambda x: [2 * x[0] * x[1], x[0] ** 2], [1.5, 2.0])
    with pytest.raises(AssertionError, match=r"^\[0, 1\]: "):
        prove(product, lambda x: [2 * x[0] * x[1], x[0] ** 2 * (1 + 10**-20 * x[0])], [1.5, 2.0])
