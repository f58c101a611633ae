"""The user's Python: what a target names, the project around it, and how its files run.

Read address (what the words of a command line name), project (which Python runs it), loading (how a file is imported),
tracebacks (which frames of an error are the user's) and frameworks (what a function uses); then instrument, lines,
forks, and torch_names (`--torch`).
"""
