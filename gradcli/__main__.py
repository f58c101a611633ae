"""`python -m gradcli`, and the `gradcli` script.

The garbage collector is off while modules are imported, and the process ends without tearing the interpreter
down: both are noticeable in a command that runs for a tenth of a second.
"""

import contextlib
import gc
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    gc.disable()
    from gradcli.cli.main import main as run
    from gradcli.lang.memory import bound

    bound.own_process = True
    gc.freeze()
    gc.enable()
    code = run()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    import atexit

    atexit._run_exitfuncs()
    os._exit(code)


if __name__ == "__main__":
    main()
