"""The methods of the program interface: one function for each verb, and the one table of them all.

A function takes JSON values by keyword and returns JSON values. `call_context` says who receives what happens
meanwhile. What a verb needs is imported in its function, so that reading a session does not load the code that runs
one. There is no network protocol here. Start with `table`.
"""
