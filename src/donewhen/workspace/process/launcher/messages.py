"""What the launcher and the harness say to each other, where both sides need the same words. Constants only."""

SUPERVISOR, OBSERVER = b"s", b"o"
"""To the server: what to start. The socket of the new process comes with it."""
END = b"end"
"""To an observer: every process of the command is dead; send the record."""
READ, WRITTEN, LISTED, FOUND, MISSED = 1, 2, 4, 8, 16
"""What a program did with a path: opened it to read, opened it to write, opened the directory, looked it up and it was
there, looked it up or opened it and it was not there."""
