"""Functions that run elsewhere: in another framework, another process, a server, a C library.

Each kind of address has an entry in KINDS (`program/target.py`) and a module of the same name, whose `open_address`
returns a function from input values to a Claim. Each framework has an entry in FRAMEWORKS
(`program/detect_framework.py`) and a module of the same name with an `Adapter`.
"""

ANSWER_SECONDS = 60.0  # the time limit of one answer, without --timeout
