"""Shared parts of the failure readers, which extract from the output of tools what failed, as the same plain data."""
