"""Calls that work in a repository, each in a process of its own, forked from a prepared one. Start at `calls`."""
