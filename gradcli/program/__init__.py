"""What can be run on values by name: an expression, a script, a function.

Read base (the interface) and target (how the command line names a program) first, then expression, script and
python_file; arguments passes values to functions, hooks attaches hooks.
"""
