"""Functions that run elsewhere: in another framework, another process, a server, a C library.

A kind of address has a line in KINDS (`program/target.py`) and a module of that name, whose `open_address` returns a
function from input values to a Claim. A framework has a line in FRAMEWORKS (`program/detect_framework.py`) and a
module of that name with an `Adapter`.
"""

ANSWER_SECONDS = 60.0  # the time limit of one answer, without --timeout
