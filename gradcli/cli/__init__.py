"""The command line: parse, call, render."""

COMPLETE = "_GRADCLI_COMPLETE"
"""The environment variable by which a completion script asks for candidates."""
