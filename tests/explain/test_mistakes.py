"""The bank of wrong gradients: reports name the mistake, and what they name repairs it at points not seen before."""

import numpy as np
import pytest

from gradcli import check_gradient
from gradcli.check.claim_check import ClaimCheck, Place, make_report
from gradcli.claims.hand_written import HandWritten
from gradcli.explain.diagnose import explanation_of, observed, swap
from gradcli.explain.evidence import DiagnosisEvidence, DiagnosisStatement, diagonal_of
from gradcli.request import Request
from gradcli.show.checks import input_lines

from .mistakes import AREAS, cases

CASES = {f"{case.area} {case.name}": case for case in cases()}
STEP = 6  # every sixth case, unless all tests run
CHOSEN = list(CASES)[::STEP]
EVERY = [pytest.param(name, marks=() if name in CHOSEN else pytest.mark.nightly) for name in CASES]


def check(case, derivative):
    options = {"wrt": case.wrt} if case.wrt else {}
    return check_gradient(case.f, at=case.at(), elementwise=case.elementwise, **{case.form: derivative}, **options)


def words_of(report):
    return " ".join([*input_lines(report), *(finding.text for finding in report.diagnosis), report.headline()])


def test_the_bank_has_all_forms_and_areas():
    assert len(CASES) >= 150
    assert {case.form for case in CASES.values()} == {"grad", "vjp", "jvp"}
    assert {case.area for case in CASES.values()} == set(AREAS)


@pytest.mark.parametrize("name", EVERY)
def test_the_mistake_is_named(name):
    case = CASES[name]
    report = check(case, case.wrong)
    assert report.verdict == "fail"
    assert any(words in words_of(report) for words in case.says), report


@pytest.mark.parametrize("name", EVERY)
def test_the_right_derivative_passes(name):
    case = CASES[name]
    assert check(case, case.right).verdict == "pass"


def claim_of(case, derivative, at):
    return HandWritten(case.f, at, wrt=case.wrt, elementwise=case.elementwise, **{case.form: derivative})


class Explaining(ClaimCheck):
    """A check that keeps its evidence instead of making findings."""

    evidence = None

    def find_mistakes(self, entries, diagonal):
        self.evidence = DiagnosisEvidence.of(entries, diagonal)
        return super().find_mistakes(entries, diagonal)


def evidence_of(case):
    request = Request()
    report = lambda *args, **more: make_report(Place(case.name), request, 0.0, *args, **more)  # noqa: E731
    with np.errstate(all="ignore"):
        judging = Explaining(claim_of(case, case.wrong, case.at()), request, report)
        judging.run()
    return judging.evidence


def fresh_block(evidence, case, k, seed):
    """Return the block of an input at a point that the diagnosis did not see, and its right derivative."""
    at = {name: np.asarray(x) for name, x in case.at(seed).items()}
    (place,) = evidence.place_at({n: at[n] * 1.1 if at[n].ndim == 0 else at[n] for n in at}, in_same_shape=True)
    block = place.block(k, evidence.here[k].rows)
    right = claim_of(case, case.right, place.flat.claim.at)
    flat = type(place.flat)(right)
    rows = flat.pull(place.rows.weights) if place.rows.weights is not None else flat.matrix()
    if block.diagonal:
        return block, diagonal_of(flat, place.rows, rows, k)[None]
    return block, rows[block.rows, flat.columns(k)]


def near(a, b):
    return np.allclose(a, b, rtol=1e-5, atol=1e-7 * np.abs(b).max(initial=0.0))


@pytest.mark.parametrize("name", EVERY)
def test_what_is_named_repairs_the_claim(name):
    """At two points that the diagnosis did not see, the corrected claim is the right derivative."""
    case = CASES[name]
    evidence = evidence_of(case)
    if evidence is None or case.local:
        return
    _, exchanged = swap(evidence)
    for block in (block for block in evidence.here if block.wrong.any() and not observed(block, evidence)):
        found = explanation_of(block, evidence, exchanged=block.name in exchanged)
        if found is None or isinstance(found, DiagnosisStatement):
            continue
        for seed in (11, 12):
            there, right = fresh_block(evidence, case, block.k, seed)
            with np.errstate(all="ignore"):
                assert near(np.broadcast_to(found.corrected(there), right.shape), right), found.text
