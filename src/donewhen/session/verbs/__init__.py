"""What a person or a program can do with sessions: one module per group of verbs.

No verb prints anything: `cli` and `server` show the results. Start with `start`.
"""
