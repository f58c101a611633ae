"""The command line: parse, call, render.

Read main (from words to an exit code) first, then option_table, option_values and options (the options, what they
accept, and the Request made of them), messages, output and complete. commands/ has the commands.
"""

COMPLETE = "_GRADCLI_COMPLETE"
"""The environment variable by which a completion script asks for candidates."""
