"""From the words of a command line, and from files, to checks."""
