"""What a session takes from the repair memory and adds to it. Best effort: a failure here stops no session.

The memory itself is the package `memory`. Start with `session_memory`.
"""
