"""Program interface: everything that the command line can do, as methods with JSON parameters and results.

`methods` has the functions and their table. It knows no user interface and no network. Start with `methods/table`.
"""
