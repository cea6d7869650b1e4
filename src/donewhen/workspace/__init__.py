"""Files, git and processes: the ground that everything stands on. No model, no judge, no idea of a session.

Import the module you need (`donewhen.workspace.process`, `.sandbox`, `.store`, …); nothing is re-exported here, so
that no caller pays for what it does not use.
"""
