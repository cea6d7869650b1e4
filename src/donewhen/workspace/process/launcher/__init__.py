"""The launcher: a small separate program that starts every process of donewhen and makes sure that it ends.

    harness ──► server ──fork──► supervisor ──fork──► the command (often bubblewrap with the command inside)

The harness is the donewhen process that starts the launcher. The server is a single-threaded Python interpreter
without site packages; the harness starts one and requests supervisors from it. A *supervisor* is the parent and child
sub-reaper of one command at a time, and kills it with all its processes. In advance, it forks the process that will
become the next command, or prewarms the sandbox for it. If the harness is killed, a supervisor lives on only until it
has killed its command.

Only the standard library is imported here, and from donewhen only this package and `workspace.beneath`: the launcher
runs with `-I -S`. It contains no policy: `workspace.sandbox` decides what to mount, limit and forbid, and sends data.
"""
