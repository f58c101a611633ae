"""Functions that run somewhere else: in another framework, another process, a server, a library of C."""
