"""The log of a session: writing it, and the state that follows from it.

Where records are stored is the package `storage`. Start with `state`.
"""
