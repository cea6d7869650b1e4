"""The built-in rules, one file per concern, and what they need to know about commands. They see one step at a time:
how a command was taken apart into steps is none of their business, and what follows from a match is the policy's.
"""
