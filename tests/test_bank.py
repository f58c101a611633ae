"""The bank as a benchmark: adapters for other checkers, adapters in files of users, and the counts."""

import numpy as np
import pytest

from .bank import run as bank
from .command import ROOT

ADAPTER = "def judge(f, x, claimed):\n    f(x)\n    return 'fail'\n"
AT = np.array([1.0, 2.0])


def needed(checker: str):
    try:
        return bank.load(checker)
    except ModuleNotFoundError as error:
        pytest.skip(f"needs {error.name}")


@pytest.mark.parametrize("checker", bank.CHECKERS)
@pytest.mark.parametrize(("claimed", "verdict"), [([2, 4], "pass"), ([3, 6], "fail"), ([2, np.nan], "fail")])
def test_each_checker_tells_right_claims_from_wrong_ones(checker, claimed, verdict):
    assert needed(checker)(lambda x: float(x @ x), AT, np.array(claimed, float)) == verdict


def test_an_adapter_is_a_file_with_one_function(tmp_path):
    """Calls are counted, and each claim counts as right, wrong or a small error. This adapter passes none."""
    (tmp_path / "mine.py").write_text(ADAPTER)
    for name in ("random", "kinks"):
        counts = bank.count_verdicts(bank.load(f"{tmp_path}/mine.py"), bank.BANKS[name](8))
        pairs = [("right", "accused"), ("wrong", "found"), ("small", "small found")]
        assert all(counts[of] == counts[failed] for of, failed in pairs)
        assert (counts["open"], counts["calls"]) == (0, 1)
        assert counts["right"] == 8 or name == "kinks"


@pytest.mark.parametrize("name", ["nonesuch", "none.py"])
def test_a_missing_checker_is_an_error(name):
    with pytest.raises(ModuleNotFoundError, match=name):
        bank.load(name)


def test_all_banks_have_right_and_wrong_claims_about_scalar_functions():
    """A scalar value and a claim of the point's shape suit every gradient checker."""
    judged = []

    def judge(f, x, claimed):
        judged.append((x.shape == claimed.shape and x.ndim == 1, isinstance(f(x), float)))
        return "pass"

    for name in ("random", "kinks", "cancelling"):  # the proven ones are scalar as well, but take long
        counts = bank.count_verdicts(judge, bank.BANKS[name](5))
        assert counts["right"] >= 5 and counts["wrong"] >= 5, name
        assert counts["accused"] == counts["found"] == counts["open"] == 0
    assert {*judged} == {(True, True)}


def test_make_has_a_target_for_the_bank():
    assert "-m tests.bank $(CHECKER)" in (ROOT / "Makefile").read_text()
