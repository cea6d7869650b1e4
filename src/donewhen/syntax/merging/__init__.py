"""Merges two changes of one file: by lines first, and by syntax where the lines alone conflict.

The result is a proposal. If all versions parse, it parses too and loses no declaration. Only the checks show whether it
works.
"""
