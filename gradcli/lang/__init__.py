"""The expression language, and values of the command line.

Read tree (the syntax tree), parse and evaluate first, then operations (what a name means), reword (messages in the
user's words), values, files and tables (values after NAME=), and limits.
"""
