"""Output for people: lines, tables and the live view, built from events and results.

This package does not change a session. Start with `event_lines`.
"""
