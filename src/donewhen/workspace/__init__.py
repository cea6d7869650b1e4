"""Files, git, processes and the sandbox: the lowest layer of the project. No model, no judge, no session.

Import the module you need (`donewhen.workspace.process.launch`, `donewhen.workspace.trees.trees`, …). Nothing is
re-exported here, so that callers do not pay for what they do not use.
"""
