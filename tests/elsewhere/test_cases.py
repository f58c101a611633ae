"""Runs the case files of this folder, which need other engines; tests/test_cases.py describes their format."""

from pathlib import Path

import pytest

from tests.test_cases import as_parameter, cases_of, check_case

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))


@pytest.mark.parametrize("case", [as_parameter(case) for path in CASES for case in cases_of(path)])
def test_case(case, tmp_path):
    check_case(case, tmp_path)
