"""The policy, run in a separate process: the parser of shell commands may hang or crash there without harm.

    client   this side: decides plain commands at once, sends the others to a process with a deadline
    server   the program of that process

The policy itself is pure and does not know about this (`workspace.policy`).
"""
