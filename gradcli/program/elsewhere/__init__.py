"""Functions that run somewhere else: in another framework, another process, a server, a library of C.

A kind of address is a line of KINDS (`program/target.py`) and the module of that name; its `open_address` returns what
makes the function there from values of its inputs. A framework is a line of FRAMEWORKS
(`program/detect_framework.py`) and the module of that name with an `Adapter`.
"""

ANSWER_SECONDS = 60.0  # how long one answer may take, unless --timeout says it
