"""The commands of the program, one module each. They parse arguments, call other packages and print the result.

The table of all commands is `cli.verb_table`. Start with `run`.
"""
