"""How a session ends: from the reason to stop to an outcome, and from a judged tree to a branch.

Writing to the user's repository is done by `workspace.git.landing`. Start with `conclude`.
"""
