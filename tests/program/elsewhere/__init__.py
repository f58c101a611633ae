"""Functions that run somewhere else: servers, processes and libraries, all of them real ones."""
