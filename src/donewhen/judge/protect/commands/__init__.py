"""Which paths are protected because the command of a check runs or names them.

Nothing here runs a command: its text is read. Start with `commands`.
"""
