"""Engines: the different ways to attempt the work. No engine decides that the work is done, and no engine can import
the code that decides it."""
