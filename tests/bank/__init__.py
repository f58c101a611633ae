"""A bank of right and wrong gradients, and what runs any checker on it.

python -m tests.bank CHECKER      a name in tests/bank/checkers, or the path of a Python file with a function `judge`
make bank CHECKER=CHECKER         the same, in an environment that has all checkers

`trials.py` says what the claims are. A checker is one function, `judge(f, x, claimed)`; see `checkers/__init__.py`.
"""
