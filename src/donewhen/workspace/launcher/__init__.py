"""The launcher: a small program of its own that starts every process of donewhen and makes sure that it ends.

    harness ──► server ──fork──► warden ──fork──► the command (often bubblewrap, and the command inside)

The server is a single-threaded interpreter without site packages; the harness starts one and asks it for wardens. A
*warden* is parent, sub-reaper and executioner of one command at a time, and forks the process that will become the
next one ahead, or puts up the sandbox that the next one will come to. It outlives a killed harness for just as long as
it needs to kill what it guards.

Only the standard library is imported here, and nothing of donewhen outside this package: it runs with `-I -S`.
It knows no policy: what to mount, limit and forbid is decided by `workspace.sandbox` and arrives as data.
"""
