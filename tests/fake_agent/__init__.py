"""A scripted agent for tests: `agent` is the program, `packed` writes it as one file that a test can pin.

It plays the program of another vendor and runs inside the sandbox, so it imports nothing of donewhen.
"""
