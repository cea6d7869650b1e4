"""Combination of finished patches: gate each one, merge them, judge the union, and search for culprits if it is red.

Facts and checks decide, never a model or an opinion. This package does not run checks: the caller passes a callable
that judges a tree. So an engine and a command use the same steps.
"""
