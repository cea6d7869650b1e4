"""Readers of compilers, linters and exception traces: one pure reader for each kind of tool."""
