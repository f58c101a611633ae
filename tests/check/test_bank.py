"""The verdict on the bank: wrong gradients are caught, right ones are never accused."""

import numpy as np
import pytest

from gradcli.check.run import Place, run_check
from gradcli.check.subjects.hand_written import HandWritten

from .bank import WRONG_FROM, mistakes, relative_error, right_cases

RIGHT = right_cases()
PLACES = {case.name: None if len(case.x) < 50 else [0, 7, 999] for case in RIGHT}
NAMED = {
    "sign": {"sign"},
    "factor": {"factor"},
    "zero": {"zero"},
    "rolled": {"rolled", "permuted", "swapped"},
    "nan": {"nan"},
}


def verdict(case, grad):
    return run_check(lambda: HandWritten(case.f, {"x": case.x}, grad=grad), Place(case.name))


def chosen_mistakes():
    """Return (case, what, gradient): every third mistake of every case, each kind as often."""
    found = []
    for k, case in enumerate(RIGHT):
        for j, (what, grad) in enumerate(mistakes(case)):
            if (k + j) % 4 == 0:
                found.append((case, what, grad))
    return found


@pytest.fixture(scope="module")
def confusion(request):
    """Count verdicts by label over the whole bank."""
    table = {"right": {}, "wrong": {}}
    missed, accused, named = [], [], []
    for case in RIGHT:
        report = verdict(case, case.grad)
        table["right"][report.verdict] = table["right"].get(report.verdict, 0) + 1
        if report.verdict != "pass":
            accused.append((case.name, report.verdict, report.message or report.inputs))
    for case, what, grad in chosen_mistakes():
        if relative_error(case, grad, PLACES[case.name]) < WRONG_FROM:
            continue  # rolled zeros and the like are no mistake
        report = verdict(case, grad)
        table["wrong"][report.verdict] = table["wrong"].get(report.verdict, 0) + 1
        if report.verdict != "fail":
            missed.append((case.name, what, report.verdict, [(i.max_rel_error, i.resolution) for i in report.inputs]))
        elif what in NAMED:
            named.append((case.name, what, bool({f.kind for f in report.diagnosis} & NAMED[what])))
    for label, counts in table.items():
        print(label, counts)
    return table, missed, accused, named


@pytest.mark.parametrize("case", RIGHT, ids=lambda c: c.name)
def test_labels_of_right_gradients_are_proven(case):
    assert relative_error(case, case.grad, PLACES[case.name]) <= case.within


def test_the_bank_is_large(confusion):
    table, *_ = confusion
    assert sum(table["right"].values()) >= 100
    assert sum(table["wrong"].values()) >= 100


def test_no_right_gradient_is_called_wrong(confusion):
    table, _, accused, _ = confusion
    assert not [item for item in accused if item[1] == "fail"], accused
    assert table["right"].get("error", 0) == 0


def test_hardly_any_right_gradient_is_left_open(confusion):
    table, _, accused, _ = confusion
    assert table["right"].get("inconclusive", 0) <= 0.03 * sum(table["right"].values()), accused


def test_wrong_gradients_are_caught(confusion):
    table, missed, *_ = confusion
    assert table["wrong"].get("fail", 0) >= 0.99 * sum(table["wrong"].values()), missed


def test_the_mistake_is_named(confusion):
    *_, named = confusion
    assert np.mean([found for *_, found in named]) >= 0.9, [item for item in named if not item[2]]
