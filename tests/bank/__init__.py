"""A bank of right and wrong gradients on which any gradient checker can be run.

python -m tests.bank CHECKER      a name in tests/bank/checkers, or a Python file that defines a function `judge`
make bank CHECKER=CHECKER         the same, in an environment that has all checkers

`trials.py` defines the claims. A checker is one function, `judge(f, x, claimed)`; see `checkers/__init__.py`.
"""
