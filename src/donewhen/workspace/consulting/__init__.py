"""The policy, asked in another process: the parser of shell commands may hang or die there, and nothing else does.

    asking      the harness' side: what is plain is decided here, the rest by a process with a deadline
    answering   the program that it starts

The policy itself is pure and knows none of this (`workspace.policy`).
"""
