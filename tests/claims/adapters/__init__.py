"""Functions that run elsewhere: in real servers, processes and libraries."""
