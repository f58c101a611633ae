"""Claims of code that runs elsewhere: in another framework, another process, a server, a C library.

Each kind of address has an entry in KINDS (`user/address.py`) and a module of the same name, whose `open_address`
returns a function from input values to a Claim. Each framework has an entry in FRAMEWORKS
(`user/frameworks.py`) and a module of the same name with an `Adapter`.
"""

ANSWER_SECONDS = 60.0  # the time limit of one answer, without --timeout
