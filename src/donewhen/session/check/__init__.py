"""Judging a tree for a session or for `donewhen check`, and proposing a contract.

The rules of the judge are in the package `judge`. Start with `judge_tree`.
"""
