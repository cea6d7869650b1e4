"""Decisions and answers of a person: gates, questions, and the socket to a running session.

How they are shown is in `cli.views`. Start with `gates`.
"""
