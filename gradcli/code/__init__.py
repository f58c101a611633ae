"""Write a program's value and gradient as a function in another language.

The engine's own operations and rules run on nodes of a graph, so that the code is as accurate as the engine. Read nodes
and record first. special has the functions that a language may lack, with error_functions and gamma_functions. write
turns a graph into statements, language says what a language defines, and each language is a module of its own.
"""
