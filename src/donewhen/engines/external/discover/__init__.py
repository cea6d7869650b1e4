"""Which agents are installed, in which version, and whether they are ready to use.

Nothing here gives an agent work. Start with `find`.
"""
