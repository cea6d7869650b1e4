"""The built-in rules, one file per topic, and what they need to know about commands.

A rule sees one step at a time. It does not know how a command was split into steps. The policy decides what follows
from a match.
"""
